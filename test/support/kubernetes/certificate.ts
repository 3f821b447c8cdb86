/** Key and certificate of the fake API server, for 127.0.0.1 and localhost until the end of 2119; for tests only. */
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXaDzEFD2THAXg5iA
CCrTMPLLqYg4D9oAOjgv2AO6waChRANCAATIZrTioTdbOfkQfnkiIb6M5D7EKjkN
XhpdjYQTCe8lN34jyp5yh96NwZKk0e1HckAnioN0OSSUWNVqxtXY4AfO
-----END PRIVATE KEY-----
`

/** It is its own certificate authority. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBgzCCASmgAwIBAgIBATAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdrdWJlcm5l
dGVzIG9mIHRoZSB0ZXN0czAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAw
MFowIjEgMB4GA1UEAwwXa3ViZXJuZXRlcyBvZiB0aGUgdGVzdHMwWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAATIZrTioTdbOfkQfnkiIb6M5D7EKjkNXhpdjYQTCe8l
N34jyp5yh96NwZKk0e1HckAnioN0OSSUWNVqxtXY4AfOo04wTDAaBgNVHREEEzAR
hwR/AAABgglsb2NhbGhvc3QwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQURJg1
U9ovByCUJnXIveiioFCHdbEwCgYIKoZIzj0EAwIDSAAwRQIhAPrJytS2c+r1GH1j
WNBBd/us9UVFnedu1SsiXpUAEoJdAiBpRlGpwlPXEY266lrh5kYcaJvBGP5DQMqz
VjCiMhbd4w==
-----END CERTIFICATE-----
`
