import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withoutIds } from '../support/identifiers.ts'
import { openPostgres } from '../support/postgres.ts'
import { openServerDatabase } from '../support/service.ts'
import { type Ended, pinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

const postgres = await openPostgres()
const shippedFolder = fileURLToPath(new URL('../../examples/scenarios/', import.meta.url))
const shipped = (await readdir(shippedFolder)).sort().map((name) => join(shippedFolder, name))

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pinfold-scenarios-'))
})
after(() => rm(folder, { recursive: true }))

const write = async (name: string, text: string): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const engines = [
  { name: 'PGlite', skip: false, openEnv: async () => ({}) },
  {
    name: 'PostgreSQL',
    skip: postgres.leftOut,
    openEnv: async () => ({
      DATABASE_URL: (await openServerDatabase(postgres)).url,
      SANDBOX: 'true',
    }),
  },
] as const

for (const { name, openEnv, skip } of engines) {
  suite(`pinfold scenario run on ${name}`, { skip }, () => {
    let program: ServedProgram
    let env: Record<string, string>
    before(async () => {
      const engine = await openEnv()
      program = await serveProgram({ env: { RATE_LIMIT: 'off', ...engine } })
      env = { DATA_DIR: program.dataDir, ...engine }
    })

    const run = (...words: string[]): Promise<Ended> => pinfold(env, 'scenario', 'run', ...words)

    test('every shipped scenario passes, and a seed gives the same bytes again', async () => {
      assert.ok(shipped.length >= 20)
      const first = await run(...shipped, '--seed', '7')
      assert.equal(first.code, 0, first.stdout + first.stderr)
      assert.match(first.stdout, new RegExp(`^${shipped.length} passed, 0 failed.$`, 'm'))
      const again = await run(...shipped, '--seed', '7')
      assert.equal(again.stdout, first.stdout, again.stderr)
      const other = await run(...shipped, '--seed', '8')
      assert.notEqual(other.stdout, first.stdout)
      assert.deepEqual(other.stdout.split('\n').sort(), first.stdout.split('\n').sort())
    })

    test('a scenario that fails names file, line and step, and prints the same twice', async () => {
      const path = await write(
        `wrong-${name}.yaml`,
        `scenario: It expects what does not happen
cards:
  ana: { knows: [pin] }
steps:
  - step: Ana pays
    call: POST /simulator/authorizations
    body: { publicToken: "\${ana.publicToken}", pin: "\${ana.pin}" }
    expect:
      status: 200
      body:
        approved: false
        publicToken: "1000000009"
        authorizationId: none
`,
      )
      const { code, stderr, stdout } = await run(path)
      assert.equal(code, 1)
      assert.ok(
        stdout.includes(`✖ It expects what does not happen
  ${path}:11: Ana pays
    /approved
      - expected false
      + actual   true
    /publicToken
      - expected "<card>"
      + actual   "\${ana.publicToken}"
    /authorizationId
      - expected "none"
      + actual   "<id>"
`),
        stdout + stderr,
      )
      assert.equal((await run(path)).stdout, stdout)
    })

    test('a refusal that was not expected shows its problem, and no PIN', async () => {
      const path = await write(
        `refused-${name}.yaml`,
        `scenario: A PIN is set
cards:
  ana: {}
steps:
  - step: The PIN is weak
    call: POST /card-pin/\${ana.publicToken}/pin
    body: { pin: "1234" }
    expect: { status: 204 }
`,
      )
      const { code, stdout } = await run(path)
      assert.equal(code, 1)
      assert.match(stdout, /expected 204\n.*actual {3}422\n.*problem: \{"code":"weak_pin"/)
      assert.doesNotMatch(withoutIds(stdout), /1234/)
    })

    test('events that differ are shown as lists, at the line of the card', async () => {
      const path = await write(
        `events-${name}.yaml`,
        `scenario: Other events
cards:
  ana: {}
steps:
  - step: The code is blocked
    call: PUT /card-cvv/\${ana.publicToken}/cvv/status
    body: { status: Blocked }
    expect: { status: 204 }
events:
  ana: [cvv.unblocked]
`,
      )
      const { code, stdout } = await run(path)
      assert.equal(code, 1)
      assert.match(stdout, /:10: the events\n {4}\/ana\n.*\["cvv.unblocked"\]\n.*\["cvv.blocked"\]/)
    })

    test('the sandbox is afterwards as it was before', async () => {
      const cards = async (): Promise<unknown> =>
        JSON.parse((await pinfold(env, 'cards', 'list', '--json')).stdout)
      const known = await cards()
      assert.ok(Array.isArray(known))
      await run(...shipped.slice(0, 2))
      assert.deepEqual(await cards(), known)
      const { stdout } = await pinfold(env, 'sandbox', 'list', '--json')
      assert.deepEqual(JSON.parse(stdout), [])
    })

    test('a scenario that cannot go on leaves the sandbox as it was before', async () => {
      const path = await write(
        `broken-${name}.yaml`,
        `scenario: The network gets no token
cards:
  ana: {}
steps:
  - step: An administrator deactivates the network
    as: admin
    call: PATCH /clients/${program.sandbox.network.clientId}
    body: { active: false }
    expect: { status: 200 }
  - step: The network asks
    as: network
    call: POST /network/authorizations
    expect: { status: 400 }
`,
      )
      const known = (await pinfold(env, 'cards', 'list', '--json')).stdout
      const { code, stderr } = await run(path)
      assert.equal(code, 1, stderr)
      assert.match(stderr, /token/)
      assert.equal((await pinfold(env, 'cards', 'list', '--json')).stdout, known)
      assert.deepEqual(JSON.parse((await pinfold(env, 'sandbox', 'list', '--json')).stdout), [])
    })
  })
}

suite('scenario files', () => {
  const refuse = async (text: string): Promise<string> => {
    const { code, stderr } = await pinfold({}, 'scenario', 'run', await write('bad.yaml', text))
    assert.equal(code, 2)
    return stderr
  }
  const valid = 'scenario: A\nsteps:\n  - step: B\n    call: GET /cards\n'

  test('a fault names the file and the line, and all faults at once', async () => {
    const faults = await refuse(`${valid}    expect: { status: many }\n    wait: 3\n`)
    assert.match(faults, /bad\.yaml:5: \/steps\/0\/expect\/status must be integer/)
    assert.match(faults, /bad\.yaml:6: \/steps\/0 unknown member wait/)
    assert.equal(faults.match(/bad\.yaml/g)?.length, 2, faults)
  })

  test('an idempotency key that no header can carry is refused', async () => {
    const faults = await refuse(`${valid}    idempotencyKey: "€ 1"\n    expect: { status: 200 }\n`)
    assert.match(faults, /bad\.yaml:5: \/steps\/0\/idempotencyKey must match/)
  })

  test('what is no YAML, names a member twice, or is empty, is refused', async () => {
    assert.match(await refuse('scenario: [\n'), /bad\.yaml:[0-9]+: /)
    assert.match(await refuse('scenario: A\nscenario: B\nsteps: []\n'), /bad\.yaml:2: .*unique/)
    assert.match(await refuse(''), /bad\.yaml:1: the file must be object/)
  })

  test('a file that grows without end by its aliases is refused', async () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]']
    for (let at = 0; at < 9; at += 1) {
      const [from, to] = ['abcdefghij'[at], 'abcdefghij'[at + 1]]
      lines.push(`${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(', ')}]`)
    }
    assert.match(await refuse(lines.join('\n')), /alias/i)
  })
})
