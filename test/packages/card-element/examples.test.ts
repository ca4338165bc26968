import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openProject, type Project, packCardElement, packSdk } from '../../support/packed-sdk.ts'
import { strongPins } from '../../support/service.ts'
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

  /** Starts a program that listens on a port, and waits for what it says. @returns the address. */
  const serve = async (folder: string, program: string, args: string[]): Promise<string> => {
    const port = String(await freePort())
    const child = spawn(program, [...args, port], { cwd: folder, env: project.env })
    after(() => child.kill())
    await once(child.stdout, 'data')
    return `http://127.0.0.1:${port}`
  }

  /** Starts the back end, and uses the card in its page. @returns the back end's address. */
  const useCard = async (folder: string, served: string, path = '/'): Promise<string> => {
    const backEnd = await serve(folder, 'node', ['back-end.mjs', served])
    await useCardAt(`${backEnd}${path}`)
    return backEnd
  }

  /** Shows the card and sets its PIN in a browser. */
  const useCardAt = async (address: string): Promise<void> => {
    const { complaints, devtools, page } = await chromium.visit()
    await page.goto(address)
    await page.waitForSelector('pinfold-card[public-token][set-pin-url]')
    const press = () => page.focus('pinfold-card').then(() => page.keyboard.press('Enter'))
    await untilState(page, 'shown', press)
    const { cvv, expiry, pan } = await readCard(devtools)
    assert.match(pan, /^400000[0-9]{10}$/)
    const [pin] = strongPins({ maskedPan: pan })
    assert.match(cvv, /^[0-9]{3}$/)
    assert.match(expiry, /^[0-9]{2}\/[0-9]{2}$/)
    await untilState(page, 'masked', () => page.keyboard.press('Escape'))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.keyboard.type(pin)
    await page.keyboard.press('Tab')
    await page.keyboard.type(pin)
    await untilState(page, 'pin-set', () => page.keyboard.press('Enter'))
    assert.equal((await readCard(devtools)).status, 'Your new PIN is set.')
    assert.deepEqual(
      complaints.filter((complaint) => !/favicon|404|^debug: \[vite\]/.test(complaint)),
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
    const backEnd = await useCard(folder, 'dist')
    const config = join(folder, 'vite.config.mjs')
    const text = await readFile(config, 'utf8')
    await writeFile(config, text.replace('http://127.0.0.1:5174', backEnd))
    const vite = ['node_modules/vite/bin/vite.js', '--host', '127.0.0.1', '--port']
    await useCardAt(await serve(folder, 'node', vite))
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
