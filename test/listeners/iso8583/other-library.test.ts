import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueCard, otherDigits } from '../../support/network.ts'
import { openTestService } from '../../support/service.ts'
import { nextTrace, openLink, purchase } from '../../support/switch.ts'

/** The package `iso_8583` of npm: ASCII, a binary bitmap, and two bytes of length. */
type Packed = new (
  fields: object,
  formats?: object,
) => {
  getBufferMessage(): Buffer | { error: string }
  getIsoJSON(bytes: Buffer): Record<string, string>
}
const Iso8583: Packed = createRequire(import.meta.url)('iso_8583')

/** What it has in another length than the standard. */
const formats = {
  53: {
    ContentType: 'n',
    Label: 'Security related control information',
    LenType: 'fixed',
    MaxLen: 16,
  },
}

test('a client written on another library signs on, sends echoes and makes purchases', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'profiles-'))
  const profile = {
    name: 'ascii-binary-bitmap',
    description: 'ASCII with a binary bitmap, as Postilion has it.',
    extends: 'sandbox',
    // It always sends 16 bytes, and says so by bit 1.
    layout: {
      bitmap: { encoding: 'binary', size: 'always-16' },
      fields: { 52: { encoding: 'binary' } },
    },
  }
  await writeFile(join(folder, 'profile.json'), JSON.stringify(profile))
  const service = await openTestService({
    env: { RATE_LIMIT: 'off', LINK_PROFILES_DIR: folder },
  })
  const { port } = await openLink(service, { profile: 'ascii-binary-bitmap' })
  const card = await issueCard(service)
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')

  const ask = async (fields: Record<string, string>): Promise<Record<string, string>> => {
    const message = new Iso8583({ 7: '1122170000', 11: nextTrace(), ...fields }, formats)
    const bytes = message.getBufferMessage()
    assert(Buffer.isBuffer(bytes), JSON.stringify(bytes))
    socket.write(bytes)
    const [answer] = await once(socket, 'data')
    return new Iso8583({}, formats).getIsoJSON(answer)
  }

  const signOn = await ask({ 0: '0800', 70: '001' })
  assert.deepEqual([signOn['0'], signOn['39'], signOn['70']], ['0810', '00', '001'])
  const echo = await ask({ 0: '0800', 70: '301' })
  assert.deepEqual([echo['0'], echo['39']], ['0810', '00'])
  const approved = await ask({ 0: '0200', ...purchase(service, card) })
  assert.deepEqual([approved['0'], approved['39'], approved['2']], ['0210', '00', card.pan])
  const refused = await ask({
    0: '0200',
    ...purchase(service, card, { pin: otherDigits(card.pin) }),
  })
  assert.deepEqual([refused['0'], refused['39']], ['0210', '55'])
  socket.destroy()
})
