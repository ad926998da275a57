//go:build linux

package main

import (
	"strings"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/http"
)

// httpLogModule is ngx_http_log_module.
var httpLogModule = &conf.Module{
	Name:     "http_log",
	Type:     httpModuleType,
	Commands: []conf.Command{{Name: "access_log", Type: httpAnyBlock | conf.OneMore, Set: httpAccessLog}},
}

// httpStubStatusModule is ngx_http_stub_status_module.
var httpStubStatusModule = &conf.Module{
	Name: "http_stub_status",
	Type: httpModuleType,
	Commands: []conf.Command{
		{Name: "stub_status", Type: httpSrvBlock | httpLocBlock | conf.NoArgs | conf.Take1, Set: httpStubStatus},
	},
}

// httpRewriteModule is ngx_http_rewrite_module.
var httpRewriteModule = &conf.Module{
	Name:     "http_rewrite",
	Type:     httpModuleType,
	Commands: []conf.Command{{Name: "return", Type: httpSrvBlock | httpLocBlock | conf.Take12, Set: httpReturn}},
}

// httpAccessLog mirrors ngx_http_log_set_log.
//
// DIVERGES: the only format is "combined", and nothing is buffered.
func httpAccessLog(cf *conf.Conf, _ *conf.Command) error {
	ctx := cf.Ctx.(*httpCtx)
	value := cf.Args

	if value[1] == "off" {
		ctx.loc.accessOff = true
		if len(value) == 2 {
			return nil
		}

		return cf.Errorf("invalid parameter \"%s\"", value[2])
	}

	if strings.HasPrefix(value[1], "syslog:") {
		return errNoSuchLog
	}

	if err := noVariables(cf, value[1]); err != nil {
		return err
	}

	ctx.loc.accessLogs = append(ctx.loc.accessLogs, &http.AccessLog{File: ctx.cycle.openFile(value[1])})

	if len(value) >= 3 && !strings.EqualFold(value[2], "combined") {
		return cf.Errorf("unknown log format \"%s\"", value[2])
	}

	if len(value) > 3 {
		return cf.Errorf("invalid parameter \"%s\"", value[3])
	}

	return nil
}

// initLogs sets the logs of a server for which neither it nor the http block
// has any.
//
// DIVERGES: in nginx it is part of ngx_http_core_merge_loc_conf and
// ngx_http_log_merge_loc_conf.
func (ctx *httpCtx) initLogs(clcf *locationConf) {
	prev := ctx.loc

	if clcf.errorLog == nil && prev.errorLog == nil {
		clcf.errorLog = &ctx.cycle.newLog
	}

	if clcf.accessLogs == nil && !clcf.accessOff && prev.accessLogs == nil && !prev.accessOff {
		clcf.accessLogs = []*http.AccessLog{{File: ctx.cycle.openFile(accessLogPath)}}
	}
}

// httpStubStatus mirrors ngx_http_set_stub_status.
func httpStubStatus(cf *conf.Conf, _ *conf.Command) error {
	cf.Ctx.(*httpCtx).loc.stubStatus = true

	return nil
}

// httpReturn mirrors ngx_http_rewrite_return. Of several the first is run.
//
// DIVERGES: there are no variables.
func httpReturn(cf *conf.Conf, _ *conf.Command) error {
	clcf := cf.Ctx.(*httpCtx).loc
	value := cf.Args
	text := ""

	status := conf.Atoi(value[1])

	if status == conf.Unset {

		if len(value) == 2 &&
			(strings.HasPrefix(value[1], "http://") ||
				strings.HasPrefix(value[1], "https://") ||
				strings.HasPrefix(value[1], "$scheme")) {
			status = 302
			text = value[1]

		} else {
			return cf.Errorf("invalid return code \"%s\"", value[1])
		}

	} else {

		if status > 999 {
			return cf.Errorf("invalid return code \"%s\"", value[1])
		}

		if len(value) == 3 {
			text = value[2]
		}
	}

	if err := noVariables(cf, text); err != nil {
		return err
	}

	if clcf.ret == nil {
		clcf.ret = &http.Return{Status: core.Status(status), Text: []byte(text)}
	}

	return nil
}

// variableChars may be in the name of a variable.
const variableChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// noVariables fails if there is a variable in s, in the words that nginx has
// for one that it does not know.
func noVariables(cf *conf.Conf, s string) error {
	_, name, found := strings.Cut(s, "$")
	if !found {
		return nil
	}

	name, bracket := strings.CutPrefix(name, "{")
	rest := strings.TrimLeft(name, variableChars)
	name = strings.TrimSuffix(name, rest)

	if bracket && !strings.HasPrefix(rest, "}") {
		return cf.Errorf("the closing bracket in \"%s\" variable is missing", name)
	}

	if name == "" {
		return cf.Errorf("invalid variable name")
	}

	cf.Log.Error(core.LogEmerg, 0, "unknown \"%s\" variable", name)
	return conf.ErrLogged
}
