/** The requests of docs/reference/api.md, sent as they stand there. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
let publicToken: string
before(async () => {
  service = await openTestService()
  await service.createCard()
  ;({ publicToken } = await service.createCard())
})

interface Message {
  /** `POST /oauth/token HTTP/1.1`, or `HTTP/1.1 200 OK`. */
  readonly start: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function parseMessage(text: string): Message {
  const [head = '', ...body] = text.split('\n\n')
  const [start = '', ...lines] = head.trim().split('\n')
  const headers = lines.map((line) => {
    const [name = '', ...value] = line.split(': ')
    return [name.toLowerCase(), value.join(': ')] as const
  })
  return { start, headers: Object.fromEntries(headers), body: body.join('\n\n').trim() }
}

/** Sends a request with the card and the credentials of this service in place of the written ones. */
async function send({ body, headers, start }: Message) {
  const [method = '', path = ''] = start.split(' ')
  const { authorization = '', ...others } = headers
  const { clientId, clientSecret } = service.sandbox ?? {}
  const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const isBasic = authorization.startsWith('Basic ')
  return service.call(method, `/${path.replace('4820117360', publicToken)}`, {
    payload: body,
    headers: { ...others, ...(isBasic && { authorization: `Basic ${credentials}` }) },
    ...(isBasic && { token: null }),
  })
}

test('every request of the API conventions returns the answer that stands below it', async () => {
  const text = await readFile(new URL('../../docs/reference/api.md', import.meta.url), 'utf8')
  const messages = [...text.matchAll(/^```http\n([\s\S]*?)^```$/gm)].map(([, message = '']) =>
    parseMessage(message),
  )
  assert.equal(messages.length, 10)
  for (let index = 0; index < messages.length; index += 2) {
    const [request, expected] = messages.slice(index, index + 2)
    assert.ok(request && expected)
    let answer = await send(request)
    if (expected.headers['idempotency-replayed']) answer = await send(request)
    assert.equal(answer.status, Number(expected.start.split(' ')[1]), request.start)
    for (const [name, value] of Object.entries(expected.headers)) {
      assert.ok(answer.headers[name] !== undefined, `${request.start}: ${name}`)
      if (name.startsWith('content-')) assert.equal(answer.headers[name], value, request.start)
    }
    if (expected.body === '') continue
    const shown = JSON.parse(expected.body)
    assert.deepEqual(Object.keys(answer.json).sort(), Object.keys(shown).sort(), request.start)
    assert.deepEqual(answer.json.errors, shown.errors, request.start)
  }
})
