import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { verifyWebhook } from '../../packages/sdk/webhooks/webhooks.ts'
import { eventTypes } from '../../src/domain/event-type.ts'
import { withoutIds } from '../support/identifiers.ts'
import { strongPins } from '../support/service.ts'
import { until } from '../support/until.ts'
import { pinfold, startPinfold } from './run-pinfold.ts'
import { serveProgram } from './served-program.ts'

let env: Record<string, string>

before(async () => {
  env = { DATA_DIR: (await serveProgram()).dataDir }
})

const answer = async (...words: string[]) => {
  const { code, stderr, stdout } = await pinfold(env, ...words, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

const trigger = async (type: string): Promise<string> =>
  (await answer('events', 'trigger', type)).publicToken

test('a PIN is set from standard input, shown, blocked and unblocked', async () => {
  const card = await trigger('card.created')
  const [pin] = strongPins(await answer('cards', 'show', card))
  const set = await startPinfold(env, ['pins', 'set', card], { input: `${pin}\n` }).ended
  assert.equal(set.code, 0, set.stderr)
  assert.ok(!withoutIds(set.stdout + set.stderr).includes(pin))
  assert.deepEqual(await answer('pins', 'show', card), { pin })
  const blocked = await trigger('pin.blocked')
  assert.equal((await answer('pins', 'status', blocked)).status, 'Blocked')
  const { status, remainingTries } = await answer('pins', 'unblock', blocked)
  assert.deepEqual([status, remainingTries], ['Unblocked', 3])
})

test('a card is converted and replaced with an address and texts for the bureau', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'pinfold-')), 'branch.json')
  const branch = { addressLine1: 'Branch 7', postCode: '28014', country: 'ESP' }
  await writeFile(path, JSON.stringify(branch))
  const production = ['--fulfilment', path, '--text1', 'Blue box', '--text2', 'By hand']
  const card = await trigger('card.created')
  const converted = await answer('cards', 'convert', card, ...production)
  assert.deepEqual([converted.publicToken, converted.cardType], [card, 'Physical'])
  const successor = await answer('cards', 'replace', card, ...production)
  assert.deepEqual([successor.replacementFor, successor.cardType], [card, 'Physical'])
  const missing = await pinfold(env, 'cards', 'replace', card, '--fulfilment', `${path}.none`)
  assert.equal(missing.code, 2, missing.stderr)
})

test('the end of a replacement does not claim that a lost card is retired', async () => {
  const card = await trigger('card.created')
  await answer('cards', 'replace', card, '--reason', 'Lost')
  const complete = await pinfold(env, 'cards', 'complete-replacement', card)
  assert.equal(complete.stdout, `The replacement of card ${card} is complete.\n`)
  assert.equal((await answer('cards', 'status', card)).cardStatusCode, '41')
})

test('one key of the metadata is set and removed, and finds the card', async () => {
  const card = await trigger('card.created')
  const set = await answer('cards', 'change', card, '--metadata', 'order=4 = 2')
  assert.deepEqual(set.metadata, { order: '4 = 2' })
  const found = await answer('cards', 'list', '--metadata', 'order=4 = 2')
  assert.deepEqual(
    found.map((each: { publicToken: string }) => each.publicToken),
    [card],
  )
  assert.deepEqual((await answer('cards', 'change', card, '--metadata', 'order=')).metadata, {})
  for (const options of [[], ['--metadata', 'order'], ['--metadata', 'a=b', '--file', 'c.json']]) {
    assert.equal((await pinfold(env, 'cards', 'change', card, ...options)).code, 2)
  }
})

test('the stored events are listed from the oldest on, or after a known one', async () => {
  const blocked = await trigger('pin.blocked')
  const types = ['--types', 'card.created,pin.blocked']
  let own: readonly { id: string; type: string }[] = []
  // The list ends before the newest events until they have their place in the order.
  await until(async () => {
    const events: { id: string; type: string; data: { publicToken: string } }[] = await answer(
      'events',
      'list',
      ...types,
    )
    own = events.filter(({ data }) => data.publicToken === blocked)
    return own.length === 2
  })
  assert.deepEqual(
    own.map(({ type }) => type),
    ['card.created', 'pin.blocked'],
  )
  const [first, second] = own
  const after = ['--after', first?.id ?? '', '--limit', '1']
  assert.equal((await answer('events', 'list', ...types, ...after))[0].id, second?.id)
  const printed = await pinfold(env, 'events', 'list', '--types', 'pin.blocked')
  assert.match(printed.stdout, new RegExp(`^TIME +CARD .*\n.* ${blocked}  pin.blocked `, 's'))
})

test('each event of a chip occurs on a new card with a virtual chip', async () => {
  const states = { queued: 'pending', sent: 'sent', done: 'done', failed: 'failed' }
  for (const [end, state] of Object.entries(states)) {
    const card = await trigger(`chip.command_${end}`)
    const { commands } = await answer('chips', 'show', card)
    assert.deepEqual(
      commands.map((command: { state: string }) => command.state),
      [state],
    )
  }
})

test('events trigger creates no card where the service has no simulator', async (t) => {
  const requests: string[] = []
  const production = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const isToken = request.url === '/oauth/token'
    response.writeHead(isToken ? 200 : 404, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(
        isToken
          ? { access_token: 'token', token_type: 'Bearer', expires_in: 60 }
          : { status: 404, code: 'not_found' },
      ),
    )
  })
  await once(production.listen(0, '127.0.0.1'), 'listening')
  t.after(() => production.close())
  const address = production.address()
  const where = {
    PINFOLD_URL: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    PINFOLD_CLIENT_ID: 'acme',
    PINFOLD_CLIENT_SECRET: 'secret',
  }
  const { code, stderr } = await pinfold({ ...env, ...where }, 'events', 'trigger', 'pin.set')
  assert.equal(code, 2, stderr)
  assert.match(stderr, /This service is not a sandbox/)
  assert.deepEqual(
    requests.filter((request) => request.startsWith('POST /thr')),
    ['POST /thr/processor/simulator/authorizations'],
  )
})

test('a CVV is blocked and unblocked', async () => {
  const card = await trigger('card.created')
  assert.equal((await answer('cvvs', 'block', card)).status, 'Blocked')
  assert.equal((await answer('cvvs', 'status', card)).remainingTries, 0)
  assert.equal((await answer('cvvs', 'unblock', card)).status, 'Unblocked')
})

test('authorizations are listed, shown with their reason, and followed', async () => {
  const card = await trigger('authorization.declined')
  const [listed] = await answer('authorizations', 'list', '--card', card)
  assert.deepEqual([listed.declineReason, listed.approved], ['wrong_expiry_date', false])
  const newest = await answer('authorizations', 'list', '--limit', '1')
  assert.deepEqual(newest, [listed])
  const words = ['authorizations', 'show', listed.authorizationId] as const
  assert.deepEqual(await answer(...words), listed)
  const shown = await pinfold(env, ...words)
  assert.match(shown.stdout, /checks +card passed, status passed, expiry failed/)
  const table = await pinfold(env, 'authorizations', 'list', '--limit', '1')
  assert.match(table.stdout, new RegExp(`${card} +Declined 54 wrong_expiry_date`))

  const { publicToken } = await answer('cards', 'show', card)
  const following = startPinfold(env, ['authorizations', 'follow', '--count', '2'])
  while (!following.stderr().includes('Following')) await once(following.child.stderr, 'data')
  await answer('simulate', publicToken, '--amount', '12.34', '--currency', 'EUR')
  await answer('simulate', publicToken, '--expiry', '2099-12')
  const { code, stdout } = await following.ended
  assert.equal(code, 0)
  const [approved = '', declined = '', ...rest] = stdout.trim().split('\n')
  assert.match(approved, new RegExp(` ${publicToken}  Approved 00  12.34 EUR  ecommerce  SIM`))
  assert.match(declined, new RegExp(` ${publicToken}  Declined 54 wrong_expiry_date  ecommerce `))
  assert.deepEqual(rest, [])
})

test('payments are listed and shown with the messages that changed them', async () => {
  const card = await trigger('payment.changed')
  const [listed, ...others] = await answer('payments', 'list', '--card', card)
  assert.deepEqual([listed.state, listed.reversed, others], ['voided', 1234, []])
  const newest = await answer('payments', 'list', '--limit', '1')
  assert.deepEqual(newest, [listed])
  const words = ['payments', 'show', listed.paymentId] as const
  const { messages, ...payment } = await answer(...words)
  assert.deepEqual(payment, listed)
  assert.deepEqual([messages.length, messages[0].effect], [1, 'release'])
  const shown = await pinfold(env, ...words)
  assert.match(shown.stdout, /messages +reversal release 1234/)
  const table = await pinfold(env, 'payments', 'list', '--card', card)
  assert.match(table.stdout, new RegExp(`${card} +voided +0\\.00 EUR +0\\.00 EUR`))
  const unknown = await pinfold(env, 'payments', 'show', card)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /No payment has this paymentId/)
})

test('events trigger forces a payment, and opens one whose hold is over', async () => {
  const [forced] = await answer('payments', 'list', '--card', await trigger('payment.forced'))
  assert.deepEqual([forced.openedBy, forced.state, forced.cleared], ['clearing', 'cleared', 1234])
  const [over] = await answer('payments', 'list', '--card', await trigger('payment.expired'))
  assert.equal(over.openedBy, 'advice')
  assert.ok(over.holdExpiresAt < over.openedAt)
})

test('events trigger makes a card whose renewal is due, also on the last day of a month', async () => {
  const card = await trigger('card.renewal_due')
  const { expiryDate, startDate } = await answer('cards', 'show', card)
  const days = (Date.parse(expiryDate) - Date.parse(startDate)) / 86_400_000
  assert.ok(days > 0 && days <= 31, `${days} days`)
  const lastDay = await serveProgram({ env: { SANDBOX_CLOCK: '2031-01-31T10:00:00Z' } })
  const triggered = await pinfold(
    { DATA_DIR: lastDay.dataDir },
    ...['events', 'trigger', 'card.renewal_due', '--json'],
  )
  assert.equal(triggered.code, 0, triggered.stderr)
})

test('webhooks listen forwards each triggered event, signed as a webhook is', async (t) => {
  // The calendar gives notice of a renewal, within half a minute.
  const types = eventTypes.filter(
    (type) => /^(?:card|pin|cvv)\./.test(type) && type !== 'card.renewal_due',
  )
  const received: { headers: Record<string, string>; body: string }[] = []
  const receiver = createServer(async (request, response) => {
    const headers = request.headers as Record<string, string>
    received.push({ headers, body: await text(request) })
    response.writeHead(204).end()
  })
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  t.after(() => receiver.close())
  const address = receiver.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hooks`
  const words = ['webhooks', 'listen', '--forward-to', url, '--types', 'pin.blocked,cvv.blocked']
  const listening = startPinfold(env, [...words, '--count', '2'])
  while (!listening.stderr().includes('Following')) await once(listening.child.stderr, 'data')
  const [, secret = ''] = /(whsec_\S+)/.exec(listening.stderr()) ?? []
  for (const type of types) await trigger(type)
  const { code, stdout } = await listening.ended
  assert.equal(code, 0)
  assert.match(stdout, /^pin\.blocked {2}204$/m)
  for (const { body, headers } of received) {
    const { data, type } = await verifyWebhook(headers, body, secret)
    assert.match(type, /blocked$/)
    assert.ok('publicToken' in data)
    assert.match(data.publicToken, /^[0-9]{10}$/)
  }
  assert.equal(received.length, 2)
})
