/*
 * Code made up for srcmap's tests: a lamp with a few statements of each kind,
 * in a later release.
 */

#define ngx_lamp_toggle(lamp)                                                 \
    (lamp)->on = !(lamp)->on;                                                 \
    (lamp)->turns++

static int ngx_lamp_wait(ngx_lamp_t *lamp);


int
ngx_lamp_cycle(ngx_lamp_t *lamp, int orders)
{
    int  i, err, bright = 0;

#if (NGX_WIN32)
    lamp->window = 1;
#endif

    lamp->timer = lamp->delay;
    lamp->log = orders;

    if (lamp->broken || lamp->missing) {
        ngx_log_error(NGX_LOG_ALERT, lamp->log, 0, "lamp is broken");
        return NGX_ERROR;

    } else if (lamp->off) {
        bright = lamp->night ? 1 : 2;

    } else {
        bright = 3;
    }

    for (i = 0; i < orders; i++) {

        if (lamp->orders[i] == 0) {
            continue;
        }

        do {
            err = ngx_lamp_wait(lamp);
        } while (err == NGX_EINTR);

        if (err) {
            lamp->failed = 1;
            break;
        }

        switch (lamp->orders[i]) {

        case NGX_LAMP_ON:
            lamp->on = 1;
            /* fall through */
        case NGX_LAMP_BLINK:
            lamp->blinks += 1;
            break;

        case NGX_LAMP_OFF:
        case NGX_LAMP_DARK:
            lamp->on = 0;
            lamp->cold = 1;
            break;

        default:
            goto done;
        }
    }

done:

    if (lamp->dim) {
        lamp->bright = bright;
    }

    return NGX_OK;
}
