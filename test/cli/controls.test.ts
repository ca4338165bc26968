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
const purchase = (card: string, amount: string) => answer('simulate', card, '--amount', amount)
const blocked = { merchantCategories: { blocked: ['7995'] } }
const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

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

test('a file with a list in place of an object is refused, and the controls stay', async () => {
  const card = await newCard()
  await answer('controls', 'set', card, '--file', await write(blocked))
  const refused = await run('controls', 'set', card, '--file', await write([]))
  assert.equal(refused.code, 2, refused.stdout)
  assert.match(refused.stderr, /must hold a JSON object/)
  assert.equal((await answer('controls', 'show', card)).version, 1)
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

test('a draft is back-tested at a card, and at its product', async () => {
  const card = await newCard()
  for (const amount of ['7.00', '8.00', '9.00']) await purchase(card, amount)
  const limits = [{ period: 'lifetime', maximumAmount: 1_000 }]
  // What `controls show` prints has a version.
  const file = await write({ version: 0, limits })
  const told = await run('controls', 'back-test', card, '--file', file, '--from', yesterday())
  assert.equal(told.code, 0, told.stderr)
  const [approved, declined, news, control, title, ...changes] = told.stdout.trim().split('\n')
  assert.equal(approved, 'approved: 3 (24.00 EUR) as recorded, 1 (7.00 EUR) by the draft')
  assert.equal(declined, 'declined: 0 (0.00 EUR) as recorded, 2 (17.00 EUR) by the draft')
  assert.equal(news, 'newly declined: 2 (17.00 EUR); newly approved: 0 (0.00 EUR)')
  assert.equal(control, '  limits.lifetime of the card: 2 (17.00 EUR)')
  assert.equal(title, 'The first authorizations that change:')
  assert.equal(changes.length, 2)
  assert.match(
    changes[0] ?? '',
    /^ {2}\S+Z [0-9]{10} \S{36} 8\.00 EUR: amount_over_limit, limits\.lifetime of the card$/,
  )
  const all = await answer('products', 'back-test', '1001', '--file', file, '--from', yesterday())
  const ofCard = all.changes.filter(
    (change: { publicToken: string }) => change.publicToken === card,
  )
  assert.equal(ofCard.length, 2)
  const early = ['--from', '2026-01-01', '--to', '2026-01-02T08:00:00Z']
  const none = await answer('controls', 'back-test', card, '--file', file, ...early)
  assert.equal(none.recorded.approved.count, 0)
})

test('a back-test without a period, or with a bad one, names the option', async () => {
  const card = await newCard()
  const file = await write(blocked)
  const without = await run('controls', 'back-test', card, '--file', file)
  assert.equal(without.code, 2)
  assert.match(without.stderr, /--from/)
  const bad = await run('controls', 'back-test', card, '--file', file, '--from', 'yesterday')
  assert.notEqual(bad.code, 0)
  assert.match(bad.stderr, /--from/)
})
