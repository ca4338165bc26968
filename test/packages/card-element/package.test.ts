import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { createPinfold, type Pinfold } from '../../../packages/sdk/client/client.ts'
import { fetchKeys } from '../../../packages/sdk/device/device.ts'
import { openProject, packCardElement } from '../../support/packed-sdk.ts'
import { openChromium, readCard, untilState } from '../../web/support/chromium.ts'
import { type Sandbox, startSandbox } from '../../web/support/demo.ts'

let packed: Buffer<ArrayBuffer>
/** A folder of somebody who uses the package, as npm has installed it. */
let consumer: string
let listed: string[]
before(async () => {
  const project = await openProject()
  const file = await packCardElement(project)
  packed = await readFile(file)
  consumer = join(project.folder, '../consumer')
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), '{ "private": true }')
  await project.run(`npm install ${file}`, consumer)
  listed = (await project.run(`tar tzf ${file}`)).trim().split('\n')
})

test('the package is in order for those who resolve it', async () => {
  const { messages, pkg } = await publint({ pack: { tarball: packed.buffer }, strict: true })
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg, { color: false })),
    [],
  )
})

test('only what it needs is in it', () => {
  const expected =
    /^package\/(?:dist\/(?:card-element|sdk\/device)\/.+\.(?:js|d\.ts)|package\.json|README\.md|LICENSE)$/
  assert.deepEqual(
    listed.filter((file) => !expected.test(file)),
    [],
  )
})

const chromium = await openChromium()

/** A page that uses the installed package without a bundler, as its README says. */
const page = (issuer: string) => `<!doctype html>
<title>A page of an application</title>
<script type="importmap">
  {
    "imports": {
      "pinfold-card-element": "/node_modules/pinfold-card-element/dist/card-element/card-element.js",
      "jose": "/node_modules/jose/dist/webapi/index.js"
    }
  }
</script>
<script type="module">
  import { PinfoldCard, pinKeys } from 'pinfold-card-element'

  const keys = await (await fetch('/keys')).json()
  const token = new URLSearchParams(location.search).get('card')
  const card = new PinfoldCard()
  card.service = pinKeys('${issuer}', keys)
  card.setAttribute('public-token', token)
  card.setAttribute('relay-url', '/cards/' + token)
  card.setAttribute('reveal-seconds', '60')
  document.body.append(card)
  document.documentElement.dataset.ready = 'true'
</script>`

suite('the installed element in a browser', { skip: chromium.leftOut }, () => {
  let sandbox: Sandbox
  let pinfold: Pinfold
  let address: string

  /** A back end that serves the page with its modules, and relays what the element asks. */
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    if (request.method === 'POST') {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
      const sealed = await pinfold.cardData.relay(path.replace('/cards/', ''), body)
      response.setHeader('content-type', 'application/json').end(JSON.stringify(sealed))
    } else if (path === '/keys') {
      const { keys } = await fetchKeys(sandbox.file.baseUrl)
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }))
    } else if (path.startsWith('/node_modules/')) {
      const module = await readFile(join(consumer, path))
      response.setHeader('content-type', 'text/javascript').end(module)
    } else response.setHeader('content-type', 'text/html').end(page(sandbox.file.baseUrl))
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end())
  })
  before(async () => {
    sandbox = await startSandbox()
    pinfold = createPinfold(sandbox.file)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const port = server.address()
    address = `http://127.0.0.1:${typeof port === 'object' ? port?.port : 0}`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  test('it shows a card that was sealed to this browser', async () => {
    const { publicToken } = await pinfold.cards.create({
      cardType: 'Virtual',
      cardProduct: 1001,
      cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
    })
    const { complaints, devtools, page } = await chromium.visit()
    await page.goto(`${address}/?card=${publicToken}`)
    await page.waitForSelector('html[data-ready=true]')
    await untilState(page, 'shown', async () => {
      await page.focus('pinfold-card')
      await page.keyboard.press('Enter')
    })
    const { cvv, expiry, pan } = await readCard(devtools)
    assert.match(pan, /^400000[0-9]{10}$/)
    assert.match(cvv, /^[0-9]{3}$/)
    assert.match(expiry, /^[0-9]{2}\/[0-9]{2}$/)
    assert.deepEqual(complaints, [])
  })
})
