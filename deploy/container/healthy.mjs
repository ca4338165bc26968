/**
 * The health check of the image: exits with 0 when this container's private listener reports ready.
 */
import { get } from 'node:http'
import { get as getByTls } from 'node:https'

const { PRIVATE_PORT = '8081', PRIVATE_TLS_CERT_FILE } = process.env
const options = {
  host: '127.0.0.1',
  port: PRIVATE_PORT,
  path: '/readyz',
  // The certificate has the public name; this connection stays in the container.
  rejectUnauthorized: false,
  signal: AbortSignal.timeout(4_000),
}
const ask = PRIVATE_TLS_CERT_FILE ? getByTls : get
ask(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on(
  'error',
  ({ message }) => {
    console.error(message)
    process.exit(1)
  },
)
