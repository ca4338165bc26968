import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { before, test } from 'node:test'
import { composeFrame, createFrameReader } from '../../../src/listeners/iso8583/codec/frame.ts'
import type { IsoMessage } from '../../../src/listeners/iso8583/codec/layout.ts'
import { decode, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { atEndOfFile } from '../../support/end-of-file.ts'
import { type IssuedCard, issueCard } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { connectSwitch, findProfile, nextTrace, openLink, purchase } from '../../support/switch.ts'

let service: TestService
let card: IssuedCard
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  card = await issueCard(service)
})

const { framing, layout } = findProfile('sandbox')
const framed = (mti: string, fields: Record<string, string>): Buffer =>
  composeFrame(framing, encode(layout, { mti, fields: { 7: '1122170000', ...fields } }))

test('a purchase right behind the answer to a sign-on of this side is authorized', async () => {
  const answered = Promise.withResolvers<IsoMessage>()
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    const reader = createFrameReader(framing)
    socket.on('data', (bytes) => {
      for (const { message } of reader.push(bytes)) {
        const { fields, mti } = decode(layout, message)
        if (mti === '0110') answered.resolve({ fields, mti })
        if (mti !== '0800') continue
        const signedOn = framed('0810', { ...fields, 39: '00' })
        const purchased = framed('0100', { ...purchase(service, card), 11: nextTrace() })
        socket.write(fields['70'] === '001' ? Buffer.concat([signedOn, purchased]) : signedOn)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  await openLink(service, { direction: 'dial', port })
  assert.equal((await answered.promise).fields['39'], '00')
})

test('a purchase right behind a sign-on of the network is authorized, and behind a sign-off it is not', async () => {
  const wire = await connectSwitch(await openLink(service))
  const traces = Array.from({ length: 4 }, nextTrace)
  const [signOn = '', first = '', signOff = '', second = ''] = traces
  const answers = traces.map((trace) => wire.awaitTrace(trace))
  wire.send(
    Buffer.concat([
      framed('0800', { 11: signOn, 70: '001' }),
      framed('0100', { ...purchase(service, card), 11: first }),
      framed('0800', { 11: signOff, 70: '002' }),
      framed('0100', { ...purchase(service, card), 11: second }),
    ]),
  )
  const codes = (await Promise.all(answers)).map(({ fields }) => fields['39'])
  assert.deepEqual(codes, ['00', '00', '00', '91'])
  wire.close()
})

test('a peer that closes its half gets the answers to all that it sent, and then the end', async () => {
  const { port } = await openLink(service)
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  const reader = createFrameReader(framing)
  const codes: (string | undefined)[] = []
  socket.on('data', (bytes) => {
    for (const { message } of reader.push(bytes)) codes.push(decode(layout, message).fields['39'])
  })
  const purchases = Array.from({ length: 100 }, () =>
    framed('0100', { ...purchase(service, card), 11: nextTrace() }),
  )
  socket.end(Buffer.concat([framed('0800', { 11: nextTrace(), 70: '001' }), ...purchases]))
  await once(socket, 'end')
  assert.deepEqual(
    codes,
    Array.from({ length: 101 }, () => '00'),
  )
  socket.destroy()
})

test('an echo that is sent as an advice is answered with the code of the network’s own messages', async () => {
  const wire = await connectSwitch(await openLink(service, { profile: 'ascii-1993' }))
  const echo = { 12: '261122170000', 24: '831' }
  for (const [mti, answer] of [
    ['1804', '1814'],
    ['1820', '1830'],
  ] as const) {
    const { fields, mti: answered } = await wire.ask(mti, echo)
    assert.deepEqual([answered, fields['39']], [answer, '800'])
  }
  wire.close()
})

for (const [profile, version] of [
  ['sandbox', '0'],
  ['ascii-1993', '1'],
] as const) {
  test(`notifications are not answered on ${profile}, whatever their class`, async () => {
    const wire = await connectSwitch(await openLink(service, { profile }))
    const { framing: wireFraming, layout: wireLayout } = wire.profile
    for (const messageClass of ['1', '2', '3', '4', '5', '6', '7', '8']) {
      const fields = { 7: '1122170000', 11: nextTrace() }
      const mti = `${version}${messageClass}40`
      wire.send(composeFrame(wireFraming, encode(wireLayout, { mti, fields })))
    }
    assert.match(await wire.signOn(), /^(00|800)$/)
    assert.deepEqual(wire.received, [])
    wire.close()
  })
}
