/* A stand-in for nginx's header of that name: srcmap reads the version. */
#define NGINX_VERSION      "2.0.0"
