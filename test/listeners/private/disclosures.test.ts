/** Who was shown what: by whom it is asked, of all clients, newest first, each with its proof. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { enterAll, signAll } from '../../support/audit.ts'
import { type Answer, openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let tokens: string[]

const ask = (path: string): Promise<Answer> =>
  service.call('GET', `//${path}`, { as: 'admin', listener: 'private' })

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const [one, two] = [await service.createCard(), await service.createCard()]
  tokens = [one.publicToken, two.publicToken]
  for (const publicToken of [...tokens, one.publicToken]) {
    const shown = await service.call('GET', `/card-pin/${publicToken}/pin`)
    assert.equal(shown.status, 200, shown.text)
    // One at a time: of what is in one millisecond any may be entered first.
    await enterAll(service.database)
  }
  await service.call('POST', `//cards/${one.publicToken}/cardholder`, {
    as: 'admin',
    listener: 'private',
  })
  await enterAll(service.database)
})

const summary = ({ json, text }: Answer) => {
  assert.ok(Array.isArray(json), text)
  return json.map((each: Record<string, string>) => [each.act, each.publicToken, each.shownTo])
}

test('every disclosure of every client and operator is listed, the newest first', async () => {
  const [one, two] = tokens
  assert.deepEqual(summary(await ask('disclosures')), [
    ['cardholder.revealed', one, 'demo-admin'],
    ['pin.revealed', one, 'demo-client'],
    ['pin.revealed', two, 'demo-client'],
    ['pin.revealed', one, 'demo-client'],
  ])
})

test('each names who was shown it', async () => {
  const [newest] = (await ask('disclosures?clientId=demo-client&limit=1')).json
  assert.equal(newest.shownToName, 'Demo client system')
})

test('those of one card, or to one who was shown them, are found by themselves, and not by both at once', async () => {
  const [one, two] = tokens
  assert.deepEqual(summary(await ask(`disclosures?publicToken=${two}`)), [
    ['pin.revealed', two, 'demo-client'],
  ])
  assert.equal(summary(await ask('disclosures?clientId=demo-client')).length, 3)
  assert.deepEqual(summary(await ask('disclosures?clientId=demo-admin')), [
    ['cardholder.revealed', one, 'demo-admin'],
  ])
  assert.deepEqual(summary(await ask('disclosures?clientId=nobody')), [])
  assert.equal((await ask(`disclosures?clientId=demo-admin&publicToken=${one}`)).status, 422)
})

test('pages follow each other without a gap, and a cursor that was made up is refused', async () => {
  const listed: unknown[] = []
  let path: string | undefined = 'disclosures?limit=1'
  while (path !== undefined) {
    const answer: Answer = await ask(path)
    listed.push(...summary(answer))
    path = /^<\/([^>]+)>/.exec(String(answer.headers.link ?? ''))?.[1]
  }
  assert.deepEqual(listed, summary(await ask('disclosures')))
  for (const position of [[-1, 0], [1, 1.5], ['1', 0], [2 ** 31, 0], []]) {
    const cursor = Buffer.from(JSON.stringify(position)).toString('base64url')
    assert.equal((await ask(`disclosures?cursor=${cursor}`)).status, 422)
  }
})

test('one has its receipt from when a checkpoint covers it, whoever was shown it', async () => {
  const [newest] = (await ask('disclosures?limit=1')).json
  assert.equal(newest.isSigned, false)
  assert.equal((await ask(`disclosures/${newest.entry}/receipt`)).status, 202)
  await signAll(service.audit)
  const disclosures: { entry: string; isSigned: boolean }[] = (await ask('disclosures')).json
  for (const { entry, isSigned } of disclosures) {
    assert.ok(isSigned)
    const receipt = await ask(`disclosures/${entry}/receipt`)
    assert.equal(receipt.status, 200)
    assert.match(receipt.text, /^c2sp\.org\/tlog-proof@v1\n/)
  }
  for (const entry of ['nothing', crypto.randomUUID()]) {
    assert.equal((await ask(`disclosures/${entry}/receipt`)).status, 404)
  }
})
