import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { writeSandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { openProject, type Project, packSdk } from '../support/packed-sdk.ts'
import { startProgram } from '../support/process.ts'
import { openServedService } from '../support/served-service.ts'

/** A guide as its reader follows it: every command run, every file written, every output compared. */

/** One fenced block: ```` ```sh ````, ```` ```js name.mjs ```` or ```` ```text ````. */
export type Block = { kind: string; file: string | undefined; text: string }

export const readGuide = async (name: string): Promise<Block[]> => {
  const text = await readFile(new URL(`../../docs/guides/${name}`, import.meta.url), 'utf8')
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

test('the guide to the first card, followed to the letter in a clean folder, ends with a card', async () => {
  const [blocks, program, project] = await Promise.all([
    readGuide('first-card.md'),
    startProgram(),
    openProject(),
  ])
  // The first step is done already: the program that `npm start` starts runs, at other ports.
  const [start, ...rest] = blocks
  assert.equal(start?.text, 'npm ci\nnpm start\n')
  await mkdir(join(project.folder, '.data'))
  await cp(join(program.dataDir, 'sandbox.json'), join(project.folder, '.data/sandbox.json'))

  const printed = await project.run(scriptOf(rest))
  assertShown(rest, printed)
  const publicToken = /^Card ([0-9]{10}) is Active/m.exec(printed)?.[1]
  const token = await program.token()
  const card = await program.call('GET', `/cards/${publicToken}`, { token })
  assert.equal(card.status, 200)
  assert.equal(card.json.pinStatus.status, 'Unblocked')
  const pin = await program.call('GET', `/card-pin/${publicToken}/pin`, { token })
  assert.equal(pin.json.pin, '4821')

  // The machine's own Node ran it above; the one that the service runs on does it, too.
  const folder = join(dirname(project.folder), 'first-card')
  const again = await project.run(`"${process.execPath}" first-card.mjs`, folder)
  assertShown(rest, again)
})

let project: Project
let folder: string
before(async () => {
  const service = await openServedService()
  project = await openProject()
  // What the guide to the first card leaves behind.
  folder = join(dirname(project.folder), 'first-card')
  await mkdir(folder)
  await cp(await writeSandboxFile(project.folder, service.sandbox), join(folder, 'sandbox.json'))
  await project.run(`npm init --yes && npm install ${await packSdk(project)}`, folder)
})

const guides: [title: string, name: string][] = [
  ['a PIN is sealed, shown, blocked and unblocked', 'set-and-show-a-pin.md'],
  ['card data is opened on the device alone', 'card-data-on-a-device.md'],
  ['a webhook is received and a forgery refused', 'receive-webhooks.md'],
]

for (const [title, name] of guides) {
  test(`by the guide ${name}, ${title}`, async () => {
    const blocks = await readGuide(name)
    assertShown(blocks, await project.run(scriptOf(blocks), folder))
  })
}

const run = promisify(execFile)
const script = fileURLToPath(
  new URL('../../examples/moving-over/cards-client.mjs', import.meta.url),
)

test('a client written for a Thredd-shaped API passes when its base URL alone is changed', async () => {
  const program = await startProgram({ env: { PROCESSOR_PATH: 'thredd' } })
  const { clientId, clientSecret } = program.sandbox
  const { stdout } = await run(process.execPath, [script], {
    env: {
      PATH: process.env.PATH,
      BASE_URL: program.baseUrl,
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
    },
  })
  const steps = stdout.trimEnd().split('\n')
  assert.equal(steps.length, 8, stdout)
  assert.ok(
    steps.every((step) => step.startsWith('ok  ')),
    stdout,
  )
})
