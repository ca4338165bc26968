import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openProject, type Project, packCardElement, packSdk } from '../../support/packed-sdk.ts'
import { openChromium, readCard, untilState } from '../../web/support/chromium.ts'
import { freePort, type Sandbox, startSandbox } from '../../web/support/demo.ts'

const chromium = await openChromium()
const root = new URL('../../../', import.meta.url)
const readme = await readFile(new URL('packages/card-element/README.md', root), 'utf8')

/** The blocks of code of the README, in their order, each with its language and its file. */
const blocks = [...readme.matchAll(/^( *)```(\w+)(?: (\S+))?\n([\s\S]*?)^\1```$/gm)].map(
  ([, indent = '', language, file, text = '']) => ({
    language,
    file,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }),
)

test('the examples have the back end of the README', async () => {
  const example = await readFile(new URL('examples/card-element/back-end.mjs', root), 'utf8')
  assert.equal(blocks.find(({ file }) => file === 'back-end.mjs')?.text, example)
})

let sandbox: Sandbox
let project: Project
before(async () => {
  if (chromium.leftOut) return
  sandbox = await startSandbox()
  project = await openProject()
  await packCardElement(project)
  await packSdk(project)
})

suite('the element in projects of others', { skip: chromium.leftOut }, () => {
  /** The folder of somebody, with what the README tells to copy into it. */
  const openFolder = async (path: string): Promise<string> => {
    const folder = join(project.folder, path)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'sandbox.json'), JSON.stringify(sandbox.file))
    return folder
  }

  const fetchKeys = `curl -fsS http://127.0.0.1:8080/.well-known/jwks.json -o keys.json`
  const run = (script: string, folder: string) =>
    project.run(script.replaceAll('http://127.0.0.1:8080', sandbox.baseUrl), folder)

  /** Starts the back end, shows the card and sets its PIN in a browser. */
  const useCard = async (folder: string, served: string, path = '/'): Promise<void> => {
    const port = String(await freePort())
    const child = spawn('node', ['back-end.mjs', served, port], { cwd: folder, env: project.env })
    after(() => child.kill())
    await once(child.stdout, 'data')
    const { complaints, devtools, page } = await chromium.visit()
    await page.goto(`http://127.0.0.1:${port}${path}`)
    await page.waitForSelector('pinfold-card[public-token][set-pin-url]')
    const press = () => page.focus('pinfold-card').then(() => page.keyboard.press('Enter'))
    await untilState(page, 'shown', press)
    const { cvv, expiry, pan } = await readCard(devtools)
    assert.match(pan, /^400000[0-9]{10}$/)
    assert.match(cvv, /^[0-9]{3}$/)
    assert.match(expiry, /^[0-9]{2}\/[0-9]{2}$/)
    await untilState(page, 'masked', () => page.keyboard.press('Escape'))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.keyboard.type('6284')
    await page.keyboard.press('Tab')
    await page.keyboard.type('6284')
    await untilState(page, 'pin-set', () => page.keyboard.press('Enter'))
    assert.equal((await readCard(devtools)).status, 'Your new PIN is set.')
    assert.deepEqual(
      complaints.filter((complaint) => !/favicon|404/.test(complaint)),
      [],
    )
  }

  test('an empty Vite project shows a card by following the README alone', async () => {
    const folder = await openFolder('../empty')
    for (const own of ['sdk', 'card-element']) {
      const file = `pinfold-${own}-0.1.0.tgz`
      await cp(join(project.folder, file), join(folder, file))
    }
    for (const { file, language, text } of blocks) {
      if (file) await writeFile(join(folder, file), text)
      else if (language === 'sh') await run(text, folder)
    }
    await useCard(folder, 'dist')
  })

  test('the examples in plain HTML, React and Vue show a card and set its PIN', async () => {
    await cp(
      new URL('examples/card-element', root),
      join(project.folder, 'examples/card-element'),
      {
        recursive: true,
      },
    )
    const folder = await openFolder('examples/card-element')
    await run(`${fetchKeys}\nnpm install`, folder)
    await useCard(folder, '.', '/html/')
    for (const example of ['react', 'vue']) {
      await run(`npx vite build ${example}`, folder)
      await useCard(folder, `${example}/dist`)
    }
  })
})
