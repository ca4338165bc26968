import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import { CallFailed, createPinfold, Problem } from '../../../../packages/sdk/client/client.ts'

/** Something that answers in the place of the service, whatever it likes. */
type Answering = (path: string, init: RequestInit) => Response | Promise<Response>

const baseUrl = 'https://cards.example'
const secrets = { clientSecret: 'the-secret-of-the-client', token: 'the-token-of-the-client' }

const pretend = (answer: Answering, token = secrets.token) => {
  const sent: string[] = []
  const pinfold = createPinfold({
    baseUrl,
    clientId: 'a-client',
    clientSecret: secrets.clientSecret,
    tokenEndpoint: `${baseUrl}/oauth/token`,
    retries: 0,
    async fetch(input, init = {}) {
      const { pathname } = new URL(String(input))
      sent.push(pathname)
      if (pathname === '/oauth/token') return Response.json({ access_token: token })
      return answer(pathname, init)
    },
  })
  return { pinfold, sent }
}

const refused = async (work: () => Promise<unknown>, code: string): Promise<CallFailed> => {
  const error: unknown = await work().then(
    () => assert.fail('It was taken.'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof CallFailed, inspect(error))
  assert.equal(error.code, code)
  return error
}

const noAnswers: [title: string, answer: () => Response][] = [
  ['a page of HTML', () => new Response('<html>Log in</html>')],
  ['nothing', () => new Response('')],
  ['null', () => Response.json(null)],
  ['a text', () => Response.json('4821')],
  ['no content', () => new Response(null, { status: 204 })],
  ['a redirect', () => new Response(null, { status: 302, headers: { location: 'https://x' } })],
  ['a PIN that is no text', () => Response.json({ pin: 4821 })],
]

for (const [title, answer] of noAnswers) {
  test(`what is no answer of the service is told as that: ${title}`, async () => {
    const { pinfold } = pretend(answer)
    await refused(() => pinfold.pins.reveal('1234567890'), 'unexpected_answer')
  })
}

const noPages: [title: string, answer: () => Response][] = [
  ['no list', () => Response.json({ items: [] })],
  ['a text', () => Response.json('abc')],
  ['a next page that is the same one', () => linked('?cursor=a')],
  ['a next page that is nowhere', () => linked('?limit=2')],
  ['a next page with no address', () => linked('https://[')],
]

const linked = (target: string): Response =>
  Response.json([{}], { headers: { link: `<${target}>; rel="next"` } })

for (const [title, answer] of noPages) {
  test(`a list comes to its end, whatever is answered: ${title}`, async () => {
    const { pinfold, sent } = pretend(answer)
    const readAll = async () => {
      for await (const _card of pinfold.cards.list()) assert.ok(sent.length < 4)
    }
    await refused(readAll, 'unexpected_answer')
    await refused(() => pinfold.cards.list({ cursor: 'a' }).page(), 'unexpected_answer')
  })
}

test('a page that is said to be elsewhere is asked of the service, with the token for nobody else', async () => {
  const seen: string[] = []
  const pinfold = createPinfold({
    baseUrl,
    clientId: 'a-client',
    clientSecret: secrets.clientSecret,
    tokenEndpoint: `${baseUrl}/oauth/token`,
    async fetch(input) {
      const url = new URL(String(input))
      seen.push(url.origin)
      if (url.pathname === '/oauth/token') return Response.json({ access_token: 'a' })
      return url.searchParams.has('cursor')
        ? Response.json([])
        : linked('https://thief.example/x?cursor=b')
    },
  })
  for await (const _card of pinfold.cards.list()) assert.ok(seen.length < 4)
  assert.deepEqual(seen, [baseUrl, baseUrl, baseUrl])
})

test('a redirect is not followed: neither a token nor a PIN goes where the service is not', async () => {
  const arrived: string[] = []
  const server = createServer((request, response) => {
    arrived.push(request.url ?? '')
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  after(() => server.close())
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const pinfold = createPinfold({
    baseUrl: `http://127.0.0.1:${port}`,
    clientId: 'a-client',
    clientSecret: secrets.clientSecret,
  })
  const error = await refused(() => pinfold.products.list().page(), 'unexpected_answer')
  assert.equal(error.status, 307)
  assert.deepEqual(arrived, ['/.well-known/oauth-authorization-server'])
})

/** A body without an end: as much as is asked for. */
const endless = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1_048_576).fill(0x20)),
  })

test('a body without an end is left, before it fills the memory', async () => {
  const { pinfold } = pretend(() => new Response(endless()))
  await refused(() => pinfold.cards.retrieve('1234567890'), 'unexpected_answer')
  const failing = pretend(() => new Response(endless(), { status: 500 }))
  await refused(() => failing.pinfold.cards.retrieve('1234567890'), 'unexpected_answer')
})

test('an answer that never comes is given up in time, even if the fetch that was given does not heed', async () => {
  const { pinfold } = pretend(() => new Promise<Response>(() => undefined))
  await refused(() => pinfold.cards.retrieve('1', { timeoutMs: 10 }), 'timed_out')
})

test('a refusal says what happened and its detail, and names a successor only if it has one', async () => {
  const problem = { code: 'renewal_in_progress', title: 'A plastic waits.', detail: 'Plastic 1.' }
  const { pinfold } = pretend(() => Response.json(problem, { status: 409 }))
  await assert.rejects(pinfold.cards.renew('1'), (error) => {
    assert.ok(error instanceof Problem)
    assert.equal(error.message, 'A plastic waits. Plastic 1.')
    assert.ok(!Object.hasOwn(error, 'replacedBy'))
    return true
  })
})

test('a problem is taken for what it is, and no more', async () => {
  const problem = { code: 'validation_failed', title: 'No.', detail: 7, requestId: {} }
  const errors = [null, 7, { pointer: '/a' }, { pointer: '/pin', detail: 'Four digits.' }]
  const { pinfold } = pretend(() => Response.json({ ...problem, errors }, { status: 422 }))
  await assert.rejects(pinfold.cards.retrieve('1'), (error) => {
    assert.ok(error instanceof Problem)
    assert.equal(error.message, 'No. /pin Four digits.')
    assert.equal(error.requestId, undefined)
    assert.deepEqual(error.errors, [{ pointer: '/pin', detail: 'Four digits.' }])
    return true
  })
})

test('no error shows a token or a secret, whatever stands in them', async () => {
  const { pinfold } = pretend(() => Response.json({}), `${secrets.token}\nX-Other: 1`)
  const error = await refused(() => pinfold.cards.retrieve('1'), 'token_refused')
  for (const secret of Object.values(secrets)) {
    assert.ok(!inspect(error, { depth: Number.POSITIVE_INFINITY }).includes(secret))
  }
  const url = 'https://me:my-password@cards.example'
  assert.throws(
    () => createPinfold({ baseUrl: url, clientId: 'a', clientSecret: 'b' }),
    (thrown) => {
      assert.ok(thrown instanceof CallFailed && thrown.code === 'invalid_argument')
      return !inspect(thrown).includes('my-password')
    },
  )
})

test('a wrong argument rejects before anything is sent', async () => {
  const { pinfold, sent } = pretend(() => Response.json({}))
  const calls: (() => Promise<unknown>)[] = [
    () => pinfold.cards.retrieve(''),
    () => pinfold.pins.unblock('..'),
    () => pinfold.cards.listAttempts('').page(),
    () => pinfold.cards.retrieve('1', { timeoutMs: Number.POSITIVE_INFINITY }),
    () => pinfold.cards.retrieve('1', { retries: Number.NaN }),
  ]
  for (const call of calls) {
    let made: Promise<unknown> | undefined
    assert.doesNotThrow(() => {
      made = call()
    }, call.toString())
    await refused(() => made ?? assert.fail(), 'invalid_argument')
  }
  assert.deepEqual(sent, [])
})

test('a client that is made without options says all that is missing', () => {
  // @ts-expect-error a program in JavaScript may forget them
  assert.throws(() => createPinfold(), {
    code: 'invalid_argument',
    message: /Missing: baseUrl, clientId, clientSecret or privateKey\.$/,
  })
})

test('a call that was aborted before it began requests no token', async () => {
  const { pinfold, sent } = pretend(() => Response.json({}))
  const signal = AbortSignal.abort(new Error('The cardholder has gone.'))
  await assert.rejects(pinfold.cards.retrieve('1', { signal }), /The cardholder has gone/)
  assert.deepEqual(sent, [])
})
