import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartRefusal } from '../../../src/domain/problem.ts'
import { composeFrame } from '../../../src/listeners/iso8583/codec/frame.ts'
import { encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { loadProfiles } from '../../../src/listeners/iso8583/profile.ts'
import { findWritingFault } from '../../../src/listeners/iso8583/writable.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService } from '../../support/service.ts'
import { nextTrace, openLink, playSwitch, purchase } from '../../support/switch.ts'

const folderOf = async (...profiles: readonly object[]): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'profiles-'))
  for (const [at, profile] of profiles.entries()) {
    const text = JSON.stringify({ description: 'A test host.', extends: 'ascii-1987', ...profile })
    await writeFile(join(folder, `${at}.json`), text)
  }
  return folder
}

test('every answer of the built-in profiles can be written', async () => {
  for (const profile of (await loadProfiles(null)).values()) {
    assert.equal(findWritingFault(profile), null, profile.name)
  }
})

for (const [title, profile, fault] of [
  ['an approval code of digits', { layout: { fields: { 38: { type: 'n' } } } }, /0110 .*Field 38/],
  [
    'a response code as packed digits of odd length',
    { extends: 'ascii-1993', layout: { fields: { 39: { type: 'n', encoding: 'bcd' } } } },
    /1110 .*Field 39/,
  ],
  [
    'a length of one digit before 99 characters',
    { layout: { fields: { 33: { prefix: { digits: 1, encoding: 'ascii' } } } } },
    /0110 .*Field 33/,
  ],
  [
    'a place for the result of a CVV2 that is too short',
    {
      cvv2: {
        field: '47',
        at: 0,
        length: 3,
        result: { field: '44', at: 30, values: { match: 'M', mismatch: 'N' } },
      },
    },
    /0110 .*Field 44/,
  ],
  [
    'a code of the network’s own messages that does not fit',
    { management: { echo: ['3001'] } },
    /0800 .*Field 70/,
  ],
] as const) {
  test(`${title} is refused at the start, with one sentence`, async () => {
    const folder = await folderOf({ name: 'unwritable', ...profile })
    await assert.rejects(loadProfiles(folder), (error) => {
      assert(error instanceof StartRefusal)
      const lines = error.message.split('\n').slice(1)
      assert.equal(lines.length, 1, error.message)
      assert.match(lines[0] ?? '', /^ {2}- unwritable: a message /)
      assert.match(lines[0] ?? '', fault)
      return true
    })
  })
}

test('a layout with a header before the type is answered with the header that came', async () => {
  const folder = await folderOf({ name: 'headed', extends: 'sandbox', layout: { header: 12 } })
  const service = await openTestService({ env: { RATE_LIMIT: 'off', LINK_PROFILES_DIR: folder } })
  const profile = (await loadProfiles(folder)).get('headed')
  assert(profile)
  const { port } = await openLink(service, { profile: 'headed' })
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  const wire = playSwitch(profile, socket)
  const header = Buffer.from('ISO015000050').toString('hex').toUpperCase()
  const ask = async (mti: string, fields: Record<string, string>) => {
    const trace = nextTrace()
    const answer = wire.awaitTrace(trace)
    const message = { header, mti, fields: { 7: '1122170000', ...fields, 11: trace } }
    wire.send(composeFrame(profile.framing, encode(profile.layout, message)))
    return answer
  }
  const card = await issueCard(service)
  for (const [mti, fields] of [
    ['0800', { 70: '001' }],
    ['0200', purchase(service, card)],
    ['0420', { ...purchase(service, card), 52: '00'.repeat(8) }],
  ] as const) {
    const answer = await ask(mti, fields)
    assert.deepEqual([answer.header, answer.fields['39']], [header, '00'])
  }
  wire.close()
})
