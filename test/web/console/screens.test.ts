import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { acts, listScreens } from '../../../src/console/screens.ts'
import { type Role, roles, scopesByRole } from '../../../src/domain/person.ts'
import { listNeededScopes } from '../../../src/listeners/http/authentication.ts'
import { type Browser, hiddenFields, openBrowser } from '../../support/browser.ts'
import { withoutIds } from '../../support/identifiers.ts'
import { faults } from '../support/axe.ts'
import { openChromium } from '../support/chromium.ts'
import { type Console, linkOf, openConsole, signIn } from '../support/console.ts'
import { hostile, openWorld, type World, writeEverywhere } from '../support/console-world.ts'
import { smallPng } from '../support/small-png.ts'

/**
 * Every screen of the console, with something to see on each: who sees it, and what it is made of.
 */

const chromium = await openChromium()

const screens = listScreens(true)
const everybody = roles
const deskAndAudit: readonly Role[] = [
  'viewer',
  'support',
  'support-lead',
  'security-officer',
  'auditor',
  'developer',
]

const audit: readonly Role[] = ['support-lead', 'security-officer', 'auditor']
const approvers: readonly Role[] = [
  'support',
  'support-lead',
  'key-officer',
  'security-officer',
  'auditor',
]

/** Who sees which screen: written down here, and held against what the service does. */
const seenBy: Readonly<Record<string, readonly Role[]>> = {
  '/console': everybody,
  '/console/search': deskAndAudit,
  '/console/authorizations': deskAndAudit,
  '/console/cards/:publicToken': deskAndAudit,
  '/console/cards/:publicToken/authorizations/:authorizationId': deskAndAudit,
  '/console/cards/:publicToken/payments': deskAndAudit,
  '/console/cards/:publicToken/payments/:paymentId': deskAndAudit,
  '/console/unblock': ['support', 'support-lead'],
  '/console/disclosures': audit,
  '/console/disclosures/:entry': audit,
  '/console/webhooks': deskAndAudit,
  '/console/webhooks/:clientId/:webhookId': deskAndAudit,
  '/console/approvals': approvers,
  '/console/approvals/:approvalId': approvers,
  '/console/products': deskAndAudit,
  '/console/limits': deskAndAudit,
  '/console/clients': deskAndAudit,
  '/console/clients/:clientId': deskAndAudit,
  '/console/clients/:clientId/decisions': deskAndAudit,
  '/console/networks': deskAndAudit,
  '/console/networks/links/:linkName': deskAndAudit,
  '/console/keys': ['key-officer', 'security-officer', 'auditor', 'developer'],
  '/console/audit-log': audit,
  '/console/people': audit,
  '/console/people/:personId': audit,
  '/console/sandbox': ['security-officer'],
}

const takesPictures = process.env.CONSOLE_PICTURES === 'write'

let service: Console
let world: World

before(async () => {
  service = await openConsole({ APPROVALS: 'administrator' })
  world = await openWorld(service, takesPictures ? null : writeEverywhere(hostile))
})

const addressOf = (path: string): string => service.url(world.addresses.get(path) ?? '/')

const browse = async (role: Role): Promise<Browser> => {
  const browser = openBrowser()
  const home = await browser.visit(linkOf(service, role))
  assert.equal(home.url, service.url('/console'), home.text)
  return browser
}

/** @returns the path of the screen at an address; null if it is no screen. */
const findScreen = (address: string): string | null =>
  screens
    .map(({ path }) => path)
    .find((path) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(address)) ?? null

/** Whoever only asks for approvals has none of others. */
const expectedStatus = (role: Role, path: string): 200 | 403 | 404 => {
  if (role === 'support' && path === '/console/approvals/:approvalId') return 404
  return seenBy[path]?.includes(role) ? 200 : 403
}

suite('each role', () => {
  test('of the table is about every screen that there is', () => {
    assert.deepEqual(Object.keys(seenBy).sort(), screens.map(({ path }) => path).sort())
  })

  for (const role of roles) {
    test(`${role} sees its own screens only, also by address, and every page links to no other`, async () => {
      const browser = await browse(role)
      const { text: home } = await browser.visit(service.url('/console'))
      for (const { navigation, path } of screens) {
        const expected = expectedStatus(role, path)
        const { status, text } = await browser.visit(addressOf(path))
        assert.equal(status, expected, `${path} as ${role}: ${text}`)
        assert.equal(/Not for your role/.test(text), expected === 403)
        const isLinked = home.includes(`<a href="${path}"`)
        if (navigation !== null)
          assert.equal(isLinked, expected === 200, `${path} in the navigation of ${role}`)
        const links = [...text.matchAll(/<a [^>]*href="(\/console[^"?#]*)/g)]
        const led = new Set(links.map(([, href = '']) => findScreen(href)))
        const refused = [...led].filter((to) => to !== null && !seenBy[to]?.includes(role))
        assert.deepEqual(refused, [], `where ${path} leads ${role}`)
      }
    })

    test(`${role} is refused by the forms of others, also when it sends them without having seen them`, async () => {
      const browser = await browse(role)
      const fields = hiddenFields(await browser.visit(service.url('/console')))
      const held: readonly string[] = scopesByRole[role]
      for (const { access, path } of acts) {
        const isAllowed =
          access === 'anyone' || listNeededScopes(access).some((each) => held.includes(each))
        if (isAllowed) continue
        const { status, text } = await browser.send(
          service.url(path.replaceAll(/:\w+/g, '1')),
          fields,
        )
        assert.deepEqual(
          [status, /Not for your role/.test(text)],
          [403, true],
          `${path} as ${role}`,
        )
      }
    })
  }
})

/** One person for each screen: of whoever sees it, the one who may do most there. */
const whoSees = (path: string): Role =>
  path.startsWith('/console/approvals') || !seenBy[path]?.includes('support-lead')
    ? 'security-officer'
    : 'support-lead'

const pictures = fileURLToPath(new URL('../../../docs/console/', import.meta.url))

/** @returns the name of a screen's picture, without its ending */
function namePicture(path: string): string {
  const [, , ...words] = path.replaceAll(/:\w+/g, 'one').split('/')
  return words.join('-') || 'home'
}

async function takePicture(page: Page, name: string): Promise<void> {
  const picture = smallPng(await page.screenshot())
  assert.ok(picture.length <= 100_000, `${name}: ${picture.length} bytes`)
  await writeFile(join(pictures, `${name}.png`), picture)
}

test('the document of pictures has every screen, in the light and in the dark', async () => {
  const document = await readFile(join(pictures, '../reference/console-pictures.md'), 'utf8')
  const wanted = screens.flatMap(({ path }) => [namePicture(path), `${namePicture(path)}-dark`])
  assert.deepEqual(
    wanted.filter((name) => !document.includes(`(../console/${name}.png)`)),
    [],
  )
  assert.deepEqual(
    wanted.filter((name) => !existsSync(join(pictures, `${name}.png`))),
    [],
  )
})

test('the page of a client leads to its decision endpoints, and shows their state', async () => {
  const browser = await browse('support-lead')
  const { text } = await browser.visit(addressOf('/console/clients/:clientId'))
  const link = 'href="/console/clients/demo-client/decisions"'
  assert.match(text, new RegExp(`${link}>endpoints</a>[^<]*<[^>]*>Decides<`))
})

test('every page of one thing leads back to the list of such things', async () => {
  const browser = await browse('security-officer')
  const cardPath = `/console/cards/${world.card.publicToken}`
  for (const [path, above] of [
    ['/console/cards/:publicToken', ['/console/search']],
    ['/console/cards/:publicToken/payments', ['/console/search', cardPath]],
    [
      '/console/cards/:publicToken/payments/:paymentId',
      ['/console/search', cardPath, `${cardPath}/payments`],
    ],
    [
      '/console/cards/:publicToken/authorizations/:authorizationId',
      ['/console/authorizations', cardPath],
    ],
    ['/console/disclosures/:entry', ['/console/disclosures']],
    ['/console/webhooks/:clientId/:webhookId', ['/console/webhooks']],
    ['/console/clients/:clientId', ['/console/clients']],
    ['/console/clients/:clientId/decisions', ['/console/clients', '/console/clients/demo-client']],
    ['/console/approvals/:approvalId', ['/console/approvals']],
    ['/console/networks/links/:linkName', ['/console/networks']],
    ['/console/people/:personId', ['/console/people']],
  ] as const) {
    const { text } = await browser.visit(addressOf(path))
    const [trail = ''] = /<nav class="trail" aria-label="Path">.*?<\/nav>/s.exec(text) ?? []
    const links = [...trail.matchAll(/<a href="([^"]*)">/g)].map(([, href = '']) => href)
    assert.deepEqual(links, above, path)
    for (const href of links) {
      assert.equal((await browser.visit(service.url(href))).status, 200)
    }
    assert.match(trail, /<li aria-current="page">/)
  }
})

test('Home lists what needs attention, and leads from a decline reason to its authorizations', async () => {
  const browser = await browse('security-officer')
  const { text } = await browser.visit(service.url('/console'))
  assert.match(text, /<b>A link is not signed on<\/b>/)
  assert.match(text, /href="\/console\/networks">Open networks</)
  assert.doesNotMatch(text, /The database does not answer|Keys are due/)
  assert.match(text, /<b>1 approval waits for you<\/b>/)
  assert.match(text, /Approvals <span class="count" title="1 waiting for you">1</)
  const [, address = ''] =
    /href="(\/console\/authorizations\?responseCode=75[^"]*)">PIN blocked \(75\)</.exec(text) ?? []
  const list = await browser.visit(service.url(address.replaceAll('&amp;', '&')))
  assert.match(list.text, /<span class="badge bad">PIN blocked \(75\)</)
  assert.doesNotMatch(list.text, /<span class="badge \w+">Approved</)
})

test('Home has figures of 24 hours, 7 days and 30 days, of all clients and of one', async () => {
  const browser = await browse('viewer')
  for (const range of ['24h', '7d', '30d']) {
    for (const [client, isCounted] of [
      ['', true],
      ['&client=demo-client', true],
      ['&client=nobody', false],
    ] as const) {
      const { text } = await browser.visit(service.url(`/console?range=${range}${client}`))
      assert.equal(/<b>[\d.]+%<\/b> approval rate/.test(text), isCounted, `${range}${client}`)
      assert.doesNotMatch(text, /could not be read/)
    }
  }
})

suite('each screen', { skip: chromium.leftOut }, () => {
  const visits = new Map<string, Promise<Awaited<ReturnType<typeof signIn>>>>()
  const visitAs = (role: Role) => {
    const visit = visits.get(role) ?? signIn(service, chromium, role)
    visits.set(role, visit)
    return visit
  }
  const open = async (path: string): Promise<Page> => {
    const { page } = await visitAs(whoSees(path))
    await page.goto(addressOf(path))
    return page
  }

  /**
   * What each screen was when it was loaded with nothing kept of others: once for all that is asked
   * of it.
   */
  const loads = new Map<string, ReturnType<typeof load>>()
  const load = async (path: string) => {
    const { devtools, page, requested } = await visitAs(whoSees(path))
    let bytes = 0
    const count = ({ encodedDataLength }: { encodedDataLength: number }) => {
      bytes += encodedDataLength
    }
    await devtools.send('Network.enable')
    await devtools.send('Network.setCacheDisabled', { cacheDisabled: true })
    devtools.on('Network.loadingFinished', count)
    await page.goto(addressOf(path), { waitUntil: 'load' })
    devtools.off('Network.loadingFinished', count)
    const text = await page.innerText('main')
    const active = await page.locator('img, main script').count()
    const elsewhere = requested.filter((url) => !url.startsWith(service.url('/')))
    return { page, bytes, text, active, markup: await page.content(), elsewhere }
  }
  const loadOnce = (path: string): ReturnType<typeof load> => {
    const loaded = loads.get(path) ?? load(path)
    loads.set(path, loaded)
    return loaded
  }

  for (const { path } of screens) {
    test(`${path} has nothing that axe finds, in the light and in the dark, and fits a telephone`, async () => {
      const loaded = load(path)
      loads.set(path, loaded)
      const { page } = await loaded
      for (const [width, colorScheme] of [
        [1280, 'light'],
        [1280, 'dark'],
        [390, 'dark'],
        [390, 'light'],
      ] as const) {
        await page.setViewportSize({ width, height: 844 })
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        assert.deepEqual(await faults(page), [], `${path} ${width} ${colorScheme}`)
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        assert.ok(wide <= 0, `${path} is ${wide} pixels too wide for ${width}`)
        if (width > 390) continue
        const tables = page.locator('.scroll:has(> .list)')
        const scrolled = await tables.evaluateAll((found) =>
          found.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel),
        )
        assert.deepEqual(scrolled, [], `tables of ${path} that scroll sideways`)
        const height = await page.evaluate(() => document.documentElement.scrollHeight)
        assert.ok(height <= 3_500, `${path} is ${height} pixels high`)
      }
    })
  }

  test('has its picture in the documentation', {
    skip: !takesPictures && 'CONSOLE_PICTURES=write takes them',
  }, async () => {
    await mkdir(pictures, { recursive: true })
    for (const { path } of screens) {
      const page = await open(path)
      const name = namePicture(path)
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.emulateMedia({ colorScheme: 'light' })
      await takePicture(page, name)
      await page.emulateMedia({ colorScheme: 'dark' })
      await takePicture(page, `${name}-dark`)
      if (!['home', 'cards-one'].includes(name)) continue
      await page.setViewportSize({ width: 390, height: 844 })
      await takePicture(page, `${name}-telephone`)
    }
  })

  test('shows what people wrote as text, and runs none of it; and no card number and no PIN', async () => {
    const shown = new Set<string>()
    for (const { path } of screens) {
      const { active, markup, text } = await loadOnce(path)
      if (text.includes(takesPictures ? 'C-20481' : hostile)) shown.add(path)
      assert.equal(active, 0, path)
      // Three digits may be those of any number: no text is a CVV2 and nothing else. A sample of
      // an endpoint is 100, as one CVV2 of a thousand is.
      const texts = text.split(/\s*[\n\t]\s*/).filter((each) => each !== '100')
      const { cvv2, pan, pin } = world.card
      assert.ok(!texts.includes(cvv2), path)
      assert.ok(!new RegExp(`\\b${pan}\\b`).test(markup), path)
      assert.ok(!new RegExp(`\\b${pin}\\b`).test(withoutIds(markup)), path)
    }
    assert.ok(shown.has('/console/cards/:publicToken'))
    for (const [role, visit] of visits) {
      assert.deepEqual((await visit).complaints, [], role)
    }
  })

  test('says on the page of a card what its chip reported, and what waits for it', async () => {
    const { text } = await loadOnce('/console/cards/:publicToken')
    assert.match(text, /The PIN in chip 00 was blocked at/)
    assert.match(text, /Its PIN had 0 tries left at/)
    assert.match(text, /block application\s+(pending|sent)/)
  })

  test('says on the page of a card where its plastics are, and which card replaces it', async () => {
    const { text } = await loadOnce('/console/cards/:publicToken')
    assert.match(text, /01\s+Waiting\s+Reprint/)
    assert.match(text, /00\s+Current\s+Issue/)
    assert.match(text, /Replaced by\s+Card \d{10}/)
  })

  test('is loaded from this listener alone, in no more than 150 kB with everything that it needs', async () => {
    for (const { path } of screens) {
      const { bytes, elsewhere } = await loadOnce(path)
      assert.ok(bytes > 20_000 && bytes <= 150_000, `${path}: ${bytes} bytes`)
      assert.deepEqual(elsewhere, [], path)
    }
  })
})
