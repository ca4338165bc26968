import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { pinKeys, requestCardData } from '../../../packages/sdk/device/device.ts'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { composeFrame } from '../../../src/listeners/iso8583/codec/frame.ts'
import { encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { createPurchase, withPin } from '../../../src/listeners/iso8583/terminal.ts'
import { onEachEngine } from '../../operations/authorizations/engines.ts'
import { ageWhatWasLost } from '../../operations/authorizations/killed.ts'
import { keepRsaKeys } from '../../operations/card-data/service.ts'
import { openLeftDatabase } from '../../support/builders.ts'
import { type IssuedCard, issueCard, otherDigits } from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import { type Program, startProgram } from '../../support/process.ts'
import {
  newCard,
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import {
  connectSwitch,
  freePort,
  nextTrace,
  openLink,
  purchase,
  type Switch,
} from '../../support/switch.ts'
import { until } from '../../support/until.ts'

const triesOf = async (
  service: TestService,
  { publicToken }: Pick<IssuedCard, 'publicToken'>,
): Promise<number> =>
  (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json.remainingTries

/** One wrong PIN, under one key. */
const wrongOnce = (service: TestService, card: IssuedCard) => ({
  ...purchase(service, card, { pin: otherDigits(card.pin) }),
  7: '1122170000',
  11: nextTrace(),
})

onEachEngine((engine) => {
  test('1,000 repeats of one wrong PIN over two links and two services spend one try', async () => {
    const { services } = await engine.open()
    const [service, other] = services
    const wires: Switch[] = []
    for (const each of services) wires.push(await connectSwitch(await openLink(each)))
    for (const wire of wires) assert.equal(await wire.signOn(), '00')
    const card = await issueCard(service)
    const asked = wrongOnce(service, card)
    const answers = await Promise.all(
      wires.map((wire, at) => atOnce(wire, at === 0 ? '0100' : '0101', asked, 500)),
    )
    assert.deepEqual([...new Set(answers.flat())], ['55'])
    assert(answers.flat().length >= 1_000)
    assert.equal(await triesOf(service, card), 2)
    assert.equal(await triesOf(other, card), 2)
    for (const wire of wires) wire.close()
  })
})

const postgres = await openPostgres()

const env = { RATE_LIMIT: 'off', LOG_LEVEL: 'warn', SANDBOX: 'true' }

/** A link of programs on the same database. */
const registerLink = async (service: TestService, linkName: string): Promise<number> => {
  const port = await freePort()
  const body = {
    linkName,
    networkId: 'demo-network',
    direction: 'listen',
    host: '127.0.0.1',
    port,
    profile: 'sandbox',
  }
  const made = await service.call('POST', '//links', { as: 'admin', listener: 'private', body })
  assert.equal(made.status, 201, made.text)
  return port
}

test('1,000 repeats of one wrong PIN over two links and two processes of one command spend one try', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres)
  const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  await keepRsaKeys(service)
  const card = await issueCard(service)
  const ports = [await registerLink(service, 'first'), await registerLink(service, 'second')]
  const program = await startProgram({
    dataDir: service.dataDir,
    env: { ...env, DATABASE_URL: url, PROCESSES: '2' },
  })
  const wires: Switch[] = []
  const metrics = async () => (await fetch(`${program.privateUrl}/metrics`)).text()
  // Each link is listened for in both, and its connections go to one after the other.
  for (const [at, link] of ['first', 'second'].entries()) {
    const inProcess = (number: number) =>
      new RegExp(`pinfold_link_connections\\{link="${link}",process="${number}"\\} [1-9]`)
    const target = { port: ports[at] ?? 0, profile: 'sandbox' }
    const isInBoth = async () => {
      const text = await metrics()
      return inProcess(1).test(text) && inProcess(2).test(text)
    }
    // One of them may have been listening first.
    for (let connected = 0; connected < 2 || !(await isInBoth()); connected += 1) {
      assert(connected < 10, program.stdout())
      wires.push(await connectPatiently(target))
    }
  }
  for (const wire of wires) assert.equal(await wire.signOn(), '00')
  const asked = wrongOnce(service, card)
  const each = Math.ceil(1_000 / wires.length)
  const answers = await Promise.all(
    wires.map((wire, at) => atOnce(wire, at === 0 ? '0100' : '0101', asked, each)),
  )
  assert.deepEqual([...new Set(answers.flat())], ['55'])
  assert(answers.flat().length >= 1_000)
  assert.equal(await triesOf(service, card), 2)
  const known = () => service.call('GET', '//links/first', { as: 'admin', listener: 'private' })
  await until(async () => (await known()).json.state === 'signed on')
  // Both sign off, and let go.
  const signedOff = wires.map(({ received }) => received.length)
  assert.equal((await program.kill('SIGTERM')).code, 0)
  for (const [at, wire] of wires.entries()) {
    await wire.closed
    const said = wire.received.slice(signedOff[at]).map(({ fields, mti }) => [mti, fields['70']])
    assert.deepEqual(said, [['0800', '002']])
  }
  assert.equal((await known()).json.connections, 0)
})

test('kill -9 between a spend and its answer: the repeat answers 96, and spends no second try', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres)
  const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  await keepRsaKeys(service)
  const card = await issueCard(service)
  const port = await registerLink(service, 'to-be-killed')
  const victim = await startProgram({
    dataDir: service.dataDir,
    env: { ...env, DATABASE_URL: url, PGAPPNAME: 'victim' },
  })
  const link = { port, profile: 'sandbox' }
  const wire = await connectPatiently(link)
  assert.equal(await wire.signOn(), '00')
  // A try is settled by the update of its request, which now takes longer than the program lives.
  await database.script(
    `create function hold() returns trigger language plpgsql as
       $$ begin perform pg_sleep(60); return new; end $$;
     create trigger hold before update on authorization_request for each row execute function hold();`,
  )
  const asked = wrongOnce(service, card)
  const first = wire.ask('0100', asked).catch(() => null)
  const attemptsOf = () =>
    sql(database, 'select 1 as one from attempt where public_token = $1', [card.publicToken])
  while ((await attemptsOf()).length === 0) await wait(20)
  await victim.kill('SIGKILL')
  assert.equal(await first, null)
  await sql(
    database,
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`,
  )
  await database.script('drop trigger hold on authorization_request; drop function hold();')
  await ageWhatWasLost(database)
  // The survivor, which asked nothing of the link so far.
  await service.links.refresh()
  const again = await connectPatiently(link)
  assert.equal(await again.signOn(), '00')
  const repeated = await again.ask('0101', asked)
  assert.equal(repeated.fields['39'], '96')
  assert.equal((await attemptsOf()).length, 1)
  assert.equal(await triesOf(service, card), 2)
  assert.equal((await again.ask('0101', asked)).fields['39'], repeated.fields['39'])
  again.close()
})

test('kill -9 of the only process, on the embedded database: no repeat spends a second try', async () => {
  const port = await freePort()
  const link = { port, profile: 'sandbox' }
  const program = await startProgram({ env: { ...env, LINK_PORT: String(port) } })
  const cards: { publicToken: PublicToken; asked: Record<string, string> }[] = []
  for (let made = 0; made < 12; made += 1) cards.push(await wrongOnceOf(program))
  const wire = await connectPatiently(link)
  assert.equal(await wire.signOn(), '00')
  let answered = 0
  const firsts = cards.map(async ({ asked }) => {
    const answer = await wire.ask('0100', asked).catch(() => null)
    answered += 1
    return answer?.fields['39'] ?? null
  })
  while (answered < 3) await wait(1)
  await program.kill('SIGKILL')
  const codes = await Promise.all(firsts)
  const embedded = await openLeftDatabase(program.dataDir)
  await ageWhatWasLost(embedded)
  // Whoever comes next on what it left.
  const service = await openTestService({
    database: embedded,
    dataDir: program.dataDir,
    env: { RATE_LIMIT: 'off', LINK_PORT: String(port) },
  })
  await service.links.refresh()
  const again = await connectPatiently(link)
  assert.equal(await again.signOn(), '00')
  for (const [at, { asked, publicToken }] of cards.entries()) {
    const code = (await again.ask('0101', asked)).fields['39']
    assert(code === '55' || (code === '96' && codes[at] === null), `${codes[at]}, then ${code}`)
    assert.equal(await triesOf(service, { publicToken }), 2)
  }
  await service.close()
  await embedded.close()
})

/** Sends a message so often at once, and gives the response codes of all its answers. */
const atOnce = async (
  { profile: { framing, layout }, received, send }: Switch,
  mti: string,
  fields: Record<string, string>,
  count: number,
) => {
  const frame = composeFrame(framing, encode(layout, { mti, fields }))
  // No more than may be in work. What waited for too long is dropped, and is sent again, as a
  // network does.
  for (let rounds = 0; received.length < count; rounds += 1) {
    assert(rounds < count, 'Too many messages stayed without an answer.')
    const due = received.length + 50
    send(Buffer.concat(Array.from({ length: 50 }, () => frame)))
    await until(() => received.length >= due).catch(() => undefined)
  }
  return received.map((answer) => answer.fields['39'])
}

/** A card of a program, as its holder’s device is shown it, and one wrong PIN for it. */
const wrongOnceOf = async (program: Program) => {
  const token = await program.token()
  const made = await program.call('POST', '/cards', { token, body: newCard() })
  const { publicToken } = made.json
  const { pin } = (await program.call('GET', `/card-pin/${publicToken}/pin`, { token })).json
  const jwks = await (await fetch(`${program.baseUrl}/.well-known/jwks.json`)).json()
  const request = await requestCardData(pinKeys(program.baseUrl, jwks), publicToken)
  const path = `/cards/${publicToken}/encrypted`
  const sealed = await program.call('POST', path, { token, body: request.body })
  const { expiryDate, pan } = await request.open(sealed.json)
  const key = program.sandbox.network.zoneKeys.find((each) => each.key === 'zone-a')?.value ?? ''
  const presented = createPurchase({ pan, expiry: expiryDate })
  const { fields } = withPin(presented, otherDigits(pin), Buffer.from(key, 'hex'))
  return { publicToken: publicToken as PublicToken, asked: { ...fields, 11: nextTrace() } }
}

/** A program brings its links up a moment after it is ready. */
const connectPatiently = async (link: { port: number; profile: string }): Promise<Switch> => {
  for (let tried = 0; ; tried += 1) {
    try {
      return await connectSwitch(link)
    } catch (error) {
      if (tried > 1_200) throw error
      await wait(100)
    }
  }
}
