import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serveProgram } from '../cli/served-program.ts'
import { openProject } from '../support/packed-sdk.ts'
import { type Program, startProgram } from '../support/process.ts'
import { openServedService } from '../support/served-service.ts'

/**
 * A guide as its reader follows it: every command run, every file written, every output compared.
 */

/** One fenced block: ```` ```sh ````, ```` ```js name.mjs ```` or ```` ```text ````. */
export type Block = { kind: string; file: string | undefined; text: string }

export const readGuide = async (path: string): Promise<Block[]> => {
  const text = await readFile(new URL(`../../docs/${path}`, import.meta.url), 'utf8')
  const fences = text.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)
  return [...fences].map(([, kind = '', file, lines = '']) => ({ kind, file, text: lines }))
}

/** The script of bash that does what the guide says, block after block. */
export const scriptOf = (blocks: readonly Block[]): string =>
  blocks
    .filter(({ file, kind }) => kind === 'sh' || file !== undefined)
    .map(({ file, text }) =>
      file === undefined ? text : `cat > ${file} <<'END OF THE FILE'\n${text}END OF THE FILE\n`,
    )
    .join('\n')

/** The output that a guide shows comes, line by line; digits may be others. */
export const assertShown = (blocks: readonly Block[], printed: string): void => {
  const shown = blocks.filter(({ kind }) => kind === 'text').map(({ text }) => text)
  assert.ok(shown.length > 0)
  const masked = (text: string): string => text.replaceAll(/[0-9]/g, '#')
  for (const text of shown) assert.ok(masked(printed).includes(masked(text)), printed)
}

const guides: [title: string, name: string][] = [
  ['a PIN is sealed, shown, blocked and unblocked', 'set-and-show-a-pin.md'],
  ['card data is opened on the device alone', 'card-data-on-a-device.md'],
  ['a webhook is received and a forgery refused', 'receive-webhooks.md'],
]

/**
 * The launcher of an installed package, which takes the place of the clone (`npm test -- --suite
 * package`).
 */
const installed = process.env.TEST_PACKAGE

const env = {
  RATE_LIMIT: 'off',
  DELIVERY_TIMEOUT_MS: '30000',
  // One card in ten thousand shows the PIN of a guide, and refuses it: these cards are known.
  SANDBOX_SEED: 'guides',
}

test('the guides, followed to the letter from a clean folder, lead where they say', async (t) => {
  const [program, project] = await Promise.all([
    installed === undefined
      ? serveProgram({ env })
      : startProgram({ env, words: [process.execPath, installed, 'start'] }),
    openProject(),
  ])
  // What the first guide makes, and the others go on in.
  const folder = join(dirname(project.folder), 'first-card')
  await t.test('the guide to the first card ends with a card', async () => {
    const [start, ...rest] = await readGuide('tutorials/first-card.md')
    // The first step is done already: the program that `npm start` starts runs, at other ports.
    assert.equal(start?.text, 'npm ci\nnpm start\n')
    await mkdir(join(project.folder, '.data'))
    await cp(join(program.dataDir, 'sandbox.json'), join(project.folder, '.data/sandbox.json'))
    const printed = await project.run(scriptOf(rest))
    assertShown(rest, printed)
    await assertIssued(program, /^Card ([0-9]{10}) is Active/m.exec(printed)?.[1])
    // The machine's own Node ran it above; the one that the service runs on does it, too.
    assertShown(rest, await project.run(`"${process.execPath}" first-card.mjs`, folder))
  })
  for (const [title, name] of guides) {
    await t.test(`by the guide ${name}, ${title}`, async () => {
      const blocks = await readGuide(`guides/${name}`)
      assertShown(blocks, await project.run(scriptOf(blocks), folder))
    })
  }
})

const assertIssued = async (
  program: Pick<Program, 'call' | 'token'>,
  publicToken: string | undefined,
): Promise<void> => {
  const token = await program.token()
  const card = await program.call('GET', `/cards/${publicToken}`, { token })
  assert.equal(card.status, 200)
  assert.equal(card.json.pinStatus.status, 'Unblocked')
  const pin = await program.call('GET', `/card-pin/${publicToken}/pin`, { token })
  assert.equal(pin.json.pin, '4821')
}

const run = promisify(execFile)
const script = fileURLToPath(
  new URL('../../examples/moving-over/cards-client.mjs', import.meta.url),
)

test('a client written for a Thredd-shaped API passes when its base URL alone is changed', async () => {
  const { sandbox } = await openServedService({ PROCESSOR_PATH: 'thredd' })
  const { stdout } = await run(process.execPath, [script], {
    env: {
      PATH: process.env.PATH,
      BASE_URL: sandbox.baseUrl,
      CLIENT_ID: sandbox.clientId,
      CLIENT_SECRET: sandbox.clientSecret,
    },
  })
  const steps = stdout.trimEnd().split('\n')
  assert.equal(steps.length, 8, stdout)
  assert.ok(
    steps.every((step) => step.startsWith('ok  ')),
    stdout,
  )
})

test('the life of a card passes as a Thredd-shaped API has it: renew, migrate, 00, 41, replace', async () => {
  const { sandbox } = await openServedService({ PROCESSOR_PATH: 'thredd' })
  const life = fileURLToPath(new URL('../../examples/moving-over/life-client.mjs', import.meta.url))
  const { stdout } = await run(process.execPath, [life], {
    env: {
      PATH: process.env.PATH,
      BASE_URL: sandbox.baseUrl,
      CLIENT_ID: sandbox.clientId,
      CLIENT_SECRET: sandbox.clientSecret,
    },
  })
  const steps = stdout.trimEnd().split('\n')
  assert.equal(steps.length, 12, stdout)
  assert.ok(
    steps.every((step) => step.startsWith('ok  ')),
    stdout,
  )
})

test('the example of moving over says in one line that no server answers', async () => {
  const BASE_URL = 'http://127.0.0.1:9'
  await assert.rejects(run(process.execPath, [script], { env: { BASE_URL } }), {
    code: 1,
    stderr: `No server answers at ${BASE_URL}. Set BASE_URL to its address.\n`,
  })
})
