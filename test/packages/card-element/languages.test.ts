import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import type { CardWords, Counted } from '../../../packages/card-element/card-words.ts'
import {
  addLanguage,
  countIn,
  findLanguage,
  listLanguages,
} from '../../../packages/card-element/languages.ts'
import { plainWords } from '../../../packages/card-element/plain-words.ts'
import { faults } from '../../web/support/axe.ts'
import { artifacts, openChromium, untilState, type Visit } from '../../web/support/chromium.ts'
import { startSandbox } from '../../web/support/demo.ts'
import { openCard, pressShow, setAttributes } from './support/open-card.ts'

const chromium = await openChromium()
const tags = ['en', 'es', 'fr', 'de', 'ar']

/** Every text of a language by its path: `failures.offline`, `shownFor.one`. */
const textsOf = (words: CardWords): [path: string, text: string][] =>
  Object.entries(words).flatMap(([name, value]: [string, string | Counted]) =>
    typeof value === 'string'
      ? [[name, value] as [string, string]]
      : Object.entries(value).map(([key, text]): [string, string] => [`${name}.${key}`, text]),
  )

test('five languages have every text, each with the placeholders of the English one', () => {
  assert.deepEqual(listLanguages(), tags)
  const placeholders = (text: string) => text.match(/\{\w+\}/g) ?? []
  const english = new Map(textsOf(findLanguage('en').words))
  for (const tag of tags) {
    const texts = textsOf(findLanguage(tag).words)
    const names = new Set(texts.map(([name]) => name))
    assert.deepEqual(
      [...english.keys()].filter((name) => !names.has(name) && !name.endsWith('.one')),
      [],
    )
    for (const [name, text] of texts) {
      assert.ok(text.trim() !== '', `${tag} ${name}`)
      const model = english.get(name)
      if (!/\.(one|two)$/.test(name) && model !== undefined) {
        assert.deepEqual(placeholders(text), placeholders(model), `${tag} ${name}`)
      }
    }
  }
})

test('a number of seconds, digits or minutes has a sentence of its own in every language', () => {
  for (const tag of tags) {
    const language = findLanguage(tag)
    for (let count = 1; count <= 60; count += 1) {
      assert.doesNotMatch(countIn(language, language.words.shownFor, count), /[{}]/)
    }
  }
  const arabic = findLanguage('ar')
  const said = [1, 2, 3, 11, 15].map((count) => countIn(arabic, arabic.words.shownFor, count))
  assert.equal(new Set(said).size, 5)
})

test('a refusal is told in the language of the element, and an unknown one as any other', () => {
  const limited = { code: 'rate_limited', retryAfterSeconds: 61 }
  assert.match(plainWords(limited, findLanguage('de')), /in 2 Minuten/)
  assert.match(plainWords({ code: 'weak_pin' }, findLanguage('es')), /demasiado fácil/)
  for (const code of ['constructor', '__proto__', '', 'no_such_code']) {
    assert.equal(plainWords({ code }, findLanguage('fr')), findLanguage('fr').words.failures.other)
  }
})

test('a language is found by its tag, then by its first part, and is English otherwise', () => {
  addLanguage('pt-BR', { ...findLanguage('en').words, show: 'Mostrar' })
  assert.equal(findLanguage('PT-br').words.show, 'Mostrar')
  assert.equal(findLanguage('ar-EG').tag, 'ar')
  for (const lang of ['', 'xx', 'pt', 'not a tag']) assert.equal(findLanguage(lang).tag, 'en')
  assert.throws(() => addLanguage('not a tag', findLanguage('en').words), RangeError)
})

suite('the element in each language', { skip: chromium.leftOut }, () => {
  let visit: Visit
  before(async () => {
    const { baseUrl } = await startSandbox()
    visit = await chromium.visit({ viewport: { width: 390, height: 900 } })
    await openCard(visit, baseUrl)
  })

  for (const tag of tags) {
    test(`${tag}: a screen reader reads its words, and axe has no complaint`, async () => {
      const { page } = visit
      const { words } = findLanguage(tag)
      await setAttributes(page, { lang: tag, 'include-pin': '' })
      const card = page.locator('pinfold-card')
      assert.ok((await groupNames(visit)).includes(words.card))
      const number = page.locator('pinfold-card .pan')
      assert.match((await number.textContent()) ?? '', new RegExp(words.endsIn.split('{')[0] ?? ''))
      assert.deepEqual(await faults(page), [])
      await pressShow(page)
      for (const name of [words.number, words.expires, words.cvv, words.pin]) {
        assert.equal(await card.getByRole('textbox', { name, exact: true }).count(), 1, name)
      }
      for (const name of [words.hide, words.copy]) {
        assert.equal(await card.getByRole('button', { name, exact: true }).count(), 1, name)
      }
      assert.deepEqual(await faults(page), [])
      await picture(`card-${tag}-shown`)
      await untilState(page, 'masked', () => page.keyboard.press('Escape'))
      await card.getByRole('button', { name: words.setPin, exact: true }).click()
      for (const name of [words.newPin, words.repeatPin]) {
        assert.equal(await card.getByLabel(name, { exact: true }).count(), 1, name)
      }
      assert.deepEqual(await faults(page), [])
      await card.getByRole('button', { name: words.savePin, exact: true }).click()
      await picture(`card-${tag}-pin`)
      assert.deepEqual(await faults(page), [])
      await page.keyboard.press('Escape')
      assert.deepEqual(await overflowing(page), [])
    })
  }

  test('Arabic is laid out from right to left, and digits are not', async () => {
    const { page } = visit
    await setAttributes(page, { lang: 'ar' })
    const left = async (selector: string) =>
      (await page.locator(`pinfold-card ${selector}`).boundingBox())?.x ?? 0
    assert.ok((await left('.issuer')) > (await left('.scheme')))
    assert.ok((await left('.cvv')) < (await left('.expiry')))
    // A name in Latin letters stands at the beginning of its line, too.
    const distances = await page.locator('pinfold-card .holder').evaluate((holder) => {
      const name = document.createRange()
      name.selectNodeContents(holder)
      const text = name.getBoundingClientRect()
      const box = holder.getBoundingClientRect()
      return [box.right - text.right, text.left - box.left]
    })
    assert.ok((distances[0] ?? 0) < (distances[1] ?? 0), distances.join())
    await pressShow(page)
    const groups = await page
      .locator('pinfold-card .pan .group')
      .evaluateAll((elements) => elements.map((each) => each.getBoundingClientRect().x))
    assert.deepEqual(
      groups,
      groups.toSorted((one, other) => one - other),
    )
    await untilState(page, 'masked', () => page.keyboard.press('Escape'))
  })

  test('it speaks the language of what is around it, and languages that a page adds', async () => {
    const { page } = visit
    await setAttributes(page, { lang: null })
    await page.evaluate(async () => {
      const card = document.querySelector('pinfold-card')
      const languages = '/demo/assets/packages/card-element/languages.ts'
      const { addLanguage, findLanguage } = await import(languages)
      addLanguage('pt', { ...findLanguage('en').words, show: 'Mostrar dados' })
      const around = card?.parentElement
      around?.setAttribute('lang', 'pt-PT')
      card?.remove()
      if (card) around?.append(card)
    })
    assert.equal(
      await page.locator('pinfold-card button.main').first().innerText(),
      'Mostrar dados',
    )
    await page.evaluate(() => document.querySelector('#card-slot')?.removeAttribute('lang'))
  })

  test('in forced colours and in the dark, everything keeps its outline', async () => {
    const { page } = visit
    for (const lang of ['en', 'ar']) {
      await setAttributes(page, { lang, 'include-pin': '' })
      await pressShow(page)
      await page.emulateMedia({ forcedColors: 'active' })
      const outline = await page
        .locator('pinfold-card .face')
        .evaluate((face) => getComputedStyle(face).borderTopStyle)
      assert.equal(outline, 'solid')
      // Contrast is the system's then, and not what the style sheets say.
      const others = (await faults(page)).filter((fault) => !fault.startsWith('color-contrast'))
      assert.deepEqual(others, [])
      await picture(`card-${lang}-forced`)
      await page.emulateMedia({ forcedColors: 'none', colorScheme: 'dark' })
      assert.deepEqual(await faults(page), [])
      await picture(`card-${lang}-dark`)
      await page.emulateMedia({ colorScheme: 'light' })
      await untilState(page, 'masked', () => page.keyboard.press('Escape'))
    }
  })

  const picture = (name: string) =>
    visit.page.locator('#card-section').screenshot({ path: join(artifacts, `${name}.png`) })
})

/** The names of groups as a screen reader tells them. */
const groupNames = async ({ devtools }: Visit): Promise<string[]> => {
  const { nodes } = await devtools.send('Accessibility.getFullAXTree')
  return nodes
    .filter(({ role }) => role?.value === 'group')
    .map(({ name }) => String(name?.value ?? ''))
}

/** What is wider than the element: a text of a language that does not fit. */
const overflowing = (page: Visit['page']): Promise<string[]> =>
  page.locator('pinfold-card .all *').evaluateAll((elements) => {
    const limit = document.querySelector('pinfold-card')?.getBoundingClientRect()
    return elements
      .filter((each) => {
        const { left, right, width } = each.getBoundingClientRect()
        return width > 1 && limit && (left < limit.left - 1 || right > limit.right + 1)
      })
      .map(({ outerHTML }) => outerHTML)
  })
