import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { createPinfold, PinfoldError } from '@pinfold/sdk'

// Usage: node back-end.mjs FOLDER [PORT], with sandbox.json in the present folder.
const [folder = 'dist', port = '5174'] = process.argv.slice(2)
const sandbox = JSON.parse(await readFile('sandbox.json', 'utf8'))
const pinfold = createPinfold(sandbox)

// Your back end knows its cardholder by a session, and finds their card.
const card = await pinfold.cards.create({
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
})
const { embossName, maskedPan, publicToken } = card
const shown = { baseUrl: sandbox.baseUrl, publicToken, maskedPan, embossName }

const calls = {
  'GET /my-card': () => shown,
  'POST /my-card/encrypted': (body) => pinfold.cardData.relay(publicToken, body),
  'POST /my-card/pin': (body) => pinfold.pins.set(publicToken, body),
}

const types = { '.html': 'text/html', '.css': 'text/css', '.json': 'application/json' }

async function answer(request, response) {
  const path = normalize(new URL(request.url, 'http://localhost').pathname)
  const call = calls[`${request.method} ${path}`]
  if (call) {
    const body = Buffer.concat(await request.toArray()).toString()
    const result = await call(body === '' ? undefined : JSON.parse(body))
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify(result ?? null))
  }
  const file = path.endsWith('/') ? `${path}index.html` : path
  response.setHeader('content-type', types[extname(file)] ?? 'text/javascript')
  response.end(await readFile(join(folder, file)))
}

createServer((request, response) => {
  answer(request, response).catch((error) => {
    // The code of a refusal goes to the element, which has words for it.
    const isRefusal = error instanceof PinfoldError && error.status
    response.writeHead(isRefusal ? error.status : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ code: isRefusal ? error.code : 'not_found' }))
  })
}).listen(Number(port), '127.0.0.1', () => console.log(`Open http://127.0.0.1:${port}/`))
