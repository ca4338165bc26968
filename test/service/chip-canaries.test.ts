import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChipData } from '../../src/domain/chip-data.ts'
import { chipMoney, issueChipCard, playChip } from '../support/chip.ts'
import { ask, unwrapKey } from '../support/network.ts'
import { openTestService, sql, strongPins, type TestService } from '../support/service.ts'

const chipKeys = ['chip-ac', 'chip-smc', 'chip-smi', 'chip-dynamic']

test('no chip key and no PIN of a chip is in logs, answers or the database', async () => {
  const found: { where: string; text: string }[] = []
  const service = await openTestService({
    onLogLine: (text) => found.push({ where: 'a log line', text }),
    env: { RATE_LIMIT: 'off', LOG_LEVEL: 'trace' },
  })
  const card = await issueChipCard(service)
  const path = `/cards/${card.publicToken}`
  const call = async (method: string, url: string, options: object = {}) => {
    const answer = await service.call(method, url, options)
    found.push({ where: `${method} ${url}`, text: answer.text })
    return answer
  }
  const [pin = ''] = strongPins({ maskedPan: card.pan })
  await call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
  const chip = await playChip(service, card)
  const body = { publicToken: card.publicToken, ...chipMoney }
  const carrying = await ask(service, { ...body, chip: await chip.present({ atc: 1 }) })
  const enciphered = readPinCommand(carrying.json.chip.data)
  for (const changed of [{ '9F26': '0000000000000000' }, { '9F10': 'FF' }, {}]) {
    const { text } = await ask(service, { ...body, chip: await chip.present({ atc: 2, changed }) })
    found.push({ where: 'an authorization without the command', text: withoutTemplates(text) })
  }
  await call('POST', `/simulator/cards/${card.publicToken}/chip`, { body: {} })
  const simulated = { publicToken: card.publicToken, ...chipMoney, chip: true, offlinePin: pin }
  await call('POST', '/simulator/authorizations', { body: simulated })
  await call('GET', `${path}/chip`)
  await call('GET', `${path}/authorizations`)
  await call('GET', `/card-pin/${card.publicToken}/pin/status`)
  for (const { name, row } of await dumpTables(service)) {
    found.push({ where: `the table ${name}`, text: row })
  }

  const canaries = [
    { name: 'the PIN block of a command in clear, format 2', digits: `24${pin}ffffffffff` },
    { name: 'the PIN block of a command in clear, of Visa', digits: `04${pin}ffffffffff` },
    { name: 'the enciphered PIN block of a command', digits: enciphered },
  ]
  for (const name of chipKeys) {
    const key = await unwrapKey(service, `${name}/1`)
    assert(key, name)
    canaries.push({ name, digits: Buffer.from(key).toString('hex') })
  }
  assert.ok(found.length > 100, 'much was searched')
  for (const { digits, name } of canaries) {
    const base64 = Buffer.from(digits, 'hex').toString('base64').replace(/=+$/, '')
    const forms = [digits, base64, base64.replaceAll('+', '-').replaceAll('/', '_')]
    const shown = found.filter(({ text }) =>
      forms.some((form, at) => (at === 0 ? text.toLowerCase() : text).includes(form)),
    )
    assert.deepEqual([...new Set(shown.map(({ where }) => where))], [], name)
  }
  await service.close()
})

/** The enciphered PIN of the command that an answer carries, in hexadecimal digits. */
function readPinCommand(data: string): string {
  const parsed = parseChipData(Buffer.from(data, 'hex'))
  assert('tags' in parsed)
  const script = Buffer.from(parsed.tags.get('72') ?? []).toString('hex')
  const [, block] = /8424000[0-9]18([0-9a-f]{32})/.exec(script) ?? []
  assert(block, 'the answer carries a change of the PIN')
  return block
}

/** An answer without the templates of commands, which have the enciphered PIN. */
const withoutTemplates = (text: string): string => text.replace(/"data":"[^"]*"/, '')

/** Every row of every table. */
async function dumpTables({ database }: TestService) {
  const tables = await sql<{ name: string }>(
    database,
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`,
    [],
  )
  const rows = []
  for (const { name } of tables) {
    const dumped = await sql<{ row: string }>(
      database,
      `select row_to_json(each)::text as row from "${name}" as each`,
      [],
    )
    rows.push(...dumped.map(({ row }) => ({ name, row })))
  }
  return rows
}
