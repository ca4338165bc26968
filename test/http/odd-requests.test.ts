import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { before, test } from 'node:test'
import { openTestService, type TestService } from '../support/service.ts'

// What no HTTP client sends by itself: by sockets.

let service: TestService
let port: number

before(async () => {
  service = await openTestService()
  await service.publicServer.listen({ port: 0, host: '127.0.0.1' })
  port = (service.publicServer.server.address() as AddressInfo).port
})

const host = 'Host: 127.0.0.1:8080'

/** All that comes back for some lines, which end the connection. */
async function answerTo(...lines: readonly string[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'))
  await once(socket, 'close')
  return answer
}

test('a request of HTTP/1.1 names its host once, or is malformed like any other', async () => {
  const line = 'GET /problems HTTP/1.1'
  for (const hosts of [[], [host, host], [host, 'Host: elsewhere.test'], ['host:', host]]) {
    const answer = await answerTo(line, ...hosts)
    assert.match(answer, /^HTTP\/1\.1 400 /, hosts.join())
    assert.match(answer, /\r\nx-request-id: /i)
    assert.match(answer, /"code":"malformed_request"/)
  }
  assert.match(await answerTo(line, host), /^HTTP\/1\.1 200 /)
})

test('an expectation that is not known is passed over', async () => {
  assert.match(
    await answerTo('GET /problems HTTP/1.1', host, 'Expect: something'),
    /^HTTP\/1\.1 200 /,
  )
})
