import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Ended, pinfold } from './run-pinfold.ts'
import { serveProgram } from './served-program.ts'

let env: Record<string, string>
let folder: string
before(async () => {
  env = { DATA_DIR: (await serveProgram()).dataDir }
  folder = await mkdtemp(join(tmpdir(), 'pinfold-controls-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const run = (...words: string[]): Promise<Ended> => pinfold(env, ...words)
const answer = async (...words: string[]) => {
  const { code, stderr, stdout } = await run(...words, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}
const write = async (content: object): Promise<string> => {
  const path = join(folder, `${crypto.randomUUID()}.json`)
  await writeFile(path, JSON.stringify(content))
  return path
}
const newCard = async (): Promise<string> =>
  (await answer('events', 'trigger', 'card.created')).publicToken
const blocked = { merchantCategories: { blocked: ['7995'] } }

test('the controls of a card are set from a file, shown, and set again without a version', async () => {
  const card = await newCard()
  const file = await write({ version: 0, ...blocked })
  assert.deepEqual(await answer('controls', 'set', card, '--file', file), { version: 1 })
  const shown = await run('controls', 'show', card)
  const { merchantCategories, version } = JSON.parse(shown.stdout)
  assert.deepEqual(
    { merchantCategories, version },
    {
      merchantCategories: { allowed: null, blocked: ['7995'] },
      version: 1,
    },
  )
  const again = await run('controls', 'set', card, '--file', await write({ singleUse: true }))
  assert.equal(again.stdout, 'The controls have version 2.\n')
  const conflict = await run('controls', 'set', card, '--file', file)
  assert.equal(conflict.code, 1, conflict.stdout)
  assert.match(conflict.stderr, /The present version is 2/)
  const without = await run('controls', 'set', card)
  assert.equal(without.code, 2)
  assert.match(without.stderr, /--file/)
})

test('controls explain names each control that objects, and succeeds either way', async () => {
  const card = await newCard()
  const shadow = { countries: { blocked: ['FRA'] } }
  await answer('controls', 'set', card, '--file', await write({ ...blocked, shadow }))
  const bet = ['--amount', '12.34', '--mcc', '7995', '--country', 'FRA']
  const declined = await run('controls', 'explain', card, ...bet)
  assert.equal(declined.code, 0, declined.stderr)
  assert.equal(
    declined.stdout,
    'Declined by these controls:\n' +
      '  merchant_category_not_allowed: merchantCategories of the card\n' +
      '  country_not_allowed: countries of the card, a shadow control, which decides nothing\n',
  )
  const allowed = await run('controls', 'explain', card, '--mode', 'ecommerce', '--mcc', '5411')
  assert.equal(allowed.stdout, 'No control objects.\n')
  const mode = await run('controls', 'explain', card, '--mode', 'telepathy')
  assert.notEqual(mode.code, 0)
  assert.match(mode.stderr, /--mode/)
})

test('the controls of a product are shown, and replaced by a file', async () => {
  const shown = await answer('products', 'controls', '1002')
  assert.deepEqual([shown.version, shown.timeZone], [0, 'UTC'])
  const file = await write({ timeZone: 'Europe/Madrid', ...blocked })
  assert.deepEqual(await answer('products', 'controls', '1002', '--file', file), { version: 1 })
  assert.equal((await answer('products', 'controls', '1002')).timeZone, 'Europe/Madrid')
})
