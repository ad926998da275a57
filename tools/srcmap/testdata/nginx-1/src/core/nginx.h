/* A stand-in for nginx's header of that name: srcmap reads the version. */
#define NGINX_VERSION      "1.0.0"
