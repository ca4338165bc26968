import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../../../src/crypto/key-check-value.ts'
import { messageMacs } from '../../../src/crypto/message-mac.ts'
import { encipherTdesCbc } from '../../../src/crypto/tdes.ts'
import { composeFrame } from '../../../src/listeners/iso8583/codec/frame.ts'
import { encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { loadProfiles } from '../../../src/listeners/iso8583/profile.ts'
import { insertZoneMasterKey } from '../../../src/storage/keys/key-blocks.ts'
import { drawTdesKey } from '../../hsm/implementation.ts'
import { type IssuedCard, issueCard, otherDigits } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { openLink, playSwitch, purchase, type Switch } from '../../support/switch.ts'

const zeros = Buffer.alloc(8)
const chainOf = (key: Uint8Array) => ({
  withA: async (blocks: Uint8Array) =>
    encipherTdesCbc(key.subarray(0, 8), zeros, blocks).subarray(-8),
  withWhole: async (blocks: Uint8Array) => encipherTdesCbc(key, zeros, blocks).subarray(-8),
})

const macKey = drawTdesKey()
const zoneMasterKey = randomBytes(32)
let service: TestService
let wire: Switch
let port: number
let card: IssuedCard

before(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'profiles-'))
  const profile = {
    name: 'with-mac',
    description: 'A link on which every message has a retail MAC.',
    extends: 'sandbox',
    mac: { control: '53', indexAt: 8, keyName: 'mac-{index}', without: '01', length: 8 },
  }
  await writeFile(join(folder, 'with-mac.json'), JSON.stringify(profile))
  service = await openTestService({ env: { RATE_LIMIT: 'off', LINK_PROFILES_DIR: folder } })
  const { hsm } = service.keys
  const components = [randomBytes(32), Buffer.alloc(32)]
  components[1] = Buffer.from(zoneMasterKey.map((byte, at) => byte ^ (components[0]?.[at] ?? 0)))
  const form = { algorithm: 'AES', lengthBytes: 32 } as const
  const blocks = []
  for (const component of components) {
    const value = aesKeyCheckValue(component).toString('hex')
    blocks.push(
      (await hsm.custody.importComponent(form, component.toString('hex'), value)).keyBlock,
    )
  }
  const combined = await hsm.custody.combineComponents(
    { family: 'zone-master' },
    form,
    blocks,
    aesKeyCheckValue(zoneMasterKey).toString('hex'),
  )
  await insertZoneMasterKey(service.database, { keyName: 'zmk-demo', ...combined })
  const imported = await service.call('POST', '//keys/import', {
    as: 'admin',
    listener: 'private',
    body: {
      family: 'zone',
      clientId: 'demo-network',
      key: 'mac-01',
      macUsage: 'M3',
      zoneMasterKey: 'zmk-demo',
      keyBlock: keyBlockOf(macKey),
    },
  })
  assert.equal(imported.status, 201, imported.text)
  const profiles = await loadProfiles(folder)
  const own = profiles.get('with-mac')
  assert(own)
  const link = await openLink(service, { profile: 'with-mac', zoneMasterKey: 'zmk-demo' })
  port = link.port
  wire = await connectWith(own, port)
  card = await issueCard(service)
})

const connectWith = async (profile: Switch['profile'], port: number): Promise<Switch> => {
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  return playSwitch(profile, socket)
}

const keyBlockOf = (key: Uint8Array, header: object = {}): string =>
  wrapKeyBlock(
    zoneMasterKey,
    {
      version: 'D',
      keyUsage: 'M3',
      algorithm: 'T',
      modeOfUse: 'C',
      keyVersion: '00',
      exportability: 'N',
      reserved: '00',
      optionalBlocks: [],
      ...header,
    },
    key,
  )

let traces = 500_000
/** Sends a message with a MAC over it up to the MAC's field, and gives the answer. */
const ask = async (
  mti: string,
  fields: Record<string, string>,
  { key = macKey, spoil = false }: { key?: Uint8Array; spoil?: boolean } = {},
) => {
  traces += 1
  const { framing, layout } = wire.profile
  const field = Object.keys(fields).some((each) => Number(each) > 64) ? '128' : '64'
  const trace = fields['11'] ?? String(traces)
  const drafted = { 7: '1122170000', ...fields, 11: trace, [field]: '0'.repeat(16) }
  const draft = encode(layout, { mti, fields: drafted })
  // The MAC is 16 digits of hexadecimal in this encoding.
  const mac = await messageMacs.retail(chainOf(key), draft.subarray(0, -16))
  if (spoil) mac[0] = (mac[0] ?? 0) ^ 1
  const whole = { ...drafted, [field]: mac.toString('hex').toUpperCase() }
  const answered = wire.awaitTrace(trace)
  wire.send(composeFrame(framing, encode(layout, { mti, fields: whole })))
  const answer = await answered
  const answerField = Object.keys(answer.fields).some((each) => Number(each) > 64) ? '128' : '64'
  const bytes = encode(layout, answer)
  const due = await messageMacs.retail(chainOf(key), bytes.subarray(0, -16))
  return {
    fields: answer.fields,
    isAuthentic: due.toString('hex').toUpperCase() === answer.fields[answerField],
  }
}

const triesOf = async (): Promise<number> =>
  (await service.call('GET', `/card-pin/${card.publicToken}/pin/status`)).json.remainingTries

test('messages with a right MAC are answered under a MAC, in either bitmap', async () => {
  const signedOn = await ask('0800', { 70: '001' })
  assert.deepEqual([signedOn.fields['39'], signedOn.isAuthentic], ['00', true])
  const purchased = await ask('0100', purchase(service, card, { 53: '2001010101000000' }))
  assert.deepEqual([purchased.fields['39'], purchased.isAuthentic], ['00', true])
})

test('a wrong MAC answers 63, and no question is asked', async () => {
  const wrong = () =>
    purchase(service, card, { pin: otherDigits(card.pin), 53: '2001010101000000' })
  assert.equal((await ask('0100', wrong(), { spoil: true })).fields['39'], '63')
  assert.equal((await ask('0100', wrong(), { key: drawTdesKey() })).fields['39'], '63')
  assert.equal((await ask('0100', { ...wrong(), 53: '2001010199000000' })).fields['39'], '63')
  assert.equal(await triesOf(), 3)
  assert.equal((await ask('0100', wrong())).fields['39'], '55')
  assert.equal(await triesOf(), 2)
})

test('a message that cannot be read is answered 30 under a right MAC, and not at all under another', async () => {
  const { framing, layout } = wire.profile
  const send = async (trace: string, key: Uint8Array): Promise<void> => {
    const fields = { 7: '1122170000', 11: trace, 41: 'TERM0001', 64: '0'.repeat(16) }
    const bytes = encode(layout, { mti: '0100', fields })
    bytes.write('ABCD', bytes.indexOf('1122170000'), 'latin1')
    const mac = await messageMacs.retail(chainOf(key), bytes.subarray(0, -16))
    bytes.write(mac.toString('hex').toUpperCase(), bytes.length - 16, 'latin1')
    wire.send(composeFrame(framing, bytes))
  }
  const before = wire.received.length
  await send('400001', drawTdesKey())
  const answered = wire.awaitTrace('400002')
  await send('400002', macKey)
  const answer = await answered
  assert.deepEqual([answer.mti, answer.fields['39']], ['0110', '30'])
  const bytes = encode(layout, answer)
  const due = await messageMacs.retail(chainOf(macKey), bytes.subarray(0, -16))
  assert.equal(answer.fields['64'], due.toString('hex').toUpperCase())
  assert.equal((await ask('0800', { 70: '301' })).fields['39'], '00')
  assert.equal(wire.received.length, before)
})

test('a key that comes by 0800 is used beside the old one, and a wrong check value changes nothing', async () => {
  const next = drawTdesKey()
  const checkValue = tdesKeyCheckValue(next).toString('hex').toUpperCase()
  const change = (index: string, given: string, block = keyBlockOf(next)) =>
    ask('0800', { 53: `200101${index}01000000`, 70: '161', 123: given, 125: block })
  assert.equal((await change('02', '000000')).fields['39'], '63')
  const under = (index: string) => purchase(service, card, { 53: `20010101${index}000000` })
  assert.equal((await ask('0100', under('02'), { key: next })).fields['39'], '63')
  assert.equal((await change('02', checkValue)).fields['39'], '00')
  // Sent again, as by a network that had no answer, it is the key that is there.
  assert.equal((await change('02', checkValue)).fields['39'], '00')
  const underNew = await ask('0100', under('02'), { key: next })
  assert.deepEqual([underNew.fields['39'], underNew.isAuthentic], ['00', true])
  assert.equal((await ask('0100', under('01'))).fields['39'], '00')
  // An index never becomes another key.
  assert.equal((await change('01', checkValue)).fields['39'], '63')
  assert.equal((await ask('0100', under('01'))).fields['39'], '00')
  // A key block under no key of the link, and one for another use.
  const strange = wrapKeyBlock(
    randomBytes(32),
    {
      version: 'D',
      keyUsage: 'M3',
      algorithm: 'T',
      modeOfUse: 'C',
      keyVersion: '00',
      exportability: 'N',
      reserved: '00',
      optionalBlocks: [],
    },
    next,
  )
  assert.equal((await change('03', checkValue, strange)).fields['39'], '63')
  assert.equal(
    (await change('03', checkValue, keyBlockOf(next, { keyUsage: 'C0' }))).fields['39'],
    '63',
  )
})

test('an answer under a wrong MAC counts as any other message', async () => {
  const other = await connectWith(wire.profile, port)
  const { framing, layout } = wire.profile
  const forged = { 7: '1122170000', 11: '000001', 39: '00', 70: '301', 128: '0'.repeat(16) }
  for (let sent = 0; sent < 5; sent += 1) {
    other.send(composeFrame(framing, encode(layout, { mti: '0810', fields: forged })))
  }
  await other.closed
})

test('the fifth wrong MAC in a row is answered 63 before the link ends', async () => {
  const first = wire
  wire = await connectWith(first.profile, port)
  const wrong = () => ask('0800', { 70: '301' }, { spoil: true })
  // All at once: what comes behind the fifth is not read, and what is read is answered.
  const answers = await Promise.all(Array.from({ length: 5 }, wrong))
  assert.deepEqual(
    answers.map(({ fields, isAuthentic }) => [fields['39'], isAuthentic]),
    Array.from({ length: 5 }, () => ['63', true]),
  )
  await wire.closed
  wire = first
})

test('several wrong MACs in a row end the link', async () => {
  const wrong = () => ask('0800', { 70: '301' }, { spoil: true }).catch(() => null)
  for (let sent = 0; sent < 4; sent += 1) await wrong()
  assert.equal((await ask('0800', { 70: '301' })).fields['39'], '00')
  for (let sent = 0; sent < 5; sent += 1) void wrong()
  await wire.closed
})
