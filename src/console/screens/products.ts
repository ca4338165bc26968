import type { Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import { AdministeredProductSchema } from '../../listeners/private/schemas/products.ts'
import { actForm } from '../act-form.ts'
import { badge } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { type Column, list, pages, renderTable } from '../listing.ts'
import { type Act, path, type Screen, type Visit } from '../screen.ts'

const access = ['admin', 'support.read'] as const
type Product = Static<typeof AdministeredProductSchema>

/** The card products. */
export const productsScreen: Screen = {
  path: '/console/products',
  access,
  navigation: 'Products',
  async show(visit) {
    const { entries, next } = await list(visit, '/products', AdministeredProductSchema)
    return {
      title: 'Products',
      body: html`${renderTable({
        name: 'Products',
        columns: listColumns(visit),
        rows: entries,
        empty: html`No products yet. Add one with <code>pinfold products create</code> or
          <code>POST /products</code>.`,
        isOneLine: true,
      })}${pages(visit, next)}`,
    }
  },
}

const listColumns = (visit: Visit): readonly Column<Product>[] => [
  {
    title: 'Product',
    kind: 'name',
    cell: ({ productId, productName }) =>
      html`<bdi class="cut short" title="${productName}">${productName}</bdi>
        <span class="fine">${productId}</span>`,
  },
  {
    title: 'Scheme',
    cell: ({ currencyCode, schemeName }) =>
      html`${schemeName} <span class="fine">${currencyCode}</span>`,
  },
  { title: 'BIN', cell: ({ bin }) => html`<code>${bin}</code>` },
  { title: 'Types', cell: ({ cardTypes }) => cardTypes.join(', ') },
  { title: 'Chip', cell: ({ chip }) => chip && chipDetails(chip) },
  {
    title: 'PIN',
    tip: (product) => describePinPolicy(product),
    cell: ({ pinLength, pinTryLimit, pvk }) =>
      html`${pinLength} digits, ${pinTryLimit} tries
        <div class="fine"><code>${pvk}</code></div>`,
  },
  {
    title: 'CVV',
    cell: ({ cvk, cvvTryLimit }) =>
      html`${cvvTryLimit} tries <div class="fine"><code>${cvk}</code></div>`,
  },
  { title: 'Renewal', cell: (product) => renewalCell(product) },
  {
    title: 'New cards',
    cell: ({ active }) => (active ? badge('Issued', 'good') : badge('Retired')),
  },
  { title: '', cell: (product) => visit.scopes.has('admin') && switchForm(visit, product) },
]

const describePinPolicy = ({ pinRevealable, refuseWeakPins }: Product): string =>
  `${pinRevealable ? 'The PIN can be shown' : 'Only a PVV is stored'}${
    refuseWeakPins ? ', weak PINs refused' : ''
  }`

function renewalCell(product: Product): Content {
  const { renewalEarliestDays, renewalGraceMonths, renewalLeadDays, renewalType } = product
  const order =
    renewalType === 'Automatic'
      ? `Ordered ${renewalLeadDays} days before the expiry`
      : `Ordered by the client, at most ${renewalEarliestDays} days before the expiry`
  return html`<span title="${order}, ${String(renewalGraceMonths)} months of grace">${
    renewalType
  }</span>`
}

type Chip = NonNullable<Product['chip']>

/** The names of what a product declines, or only records. */
const policies = {
  missingData: 'missing chip data',
  fallback: 'fallback to the stripe',
  disagreement: 'data that disagree with the message',
  wrongCardValue: 'wrong CVV, iCVV, dCVV, CVC3 or CAVV',
} as const satisfies Partial<Record<keyof Chip, string>>

function chipDetails(chip: Chip): Content {
  const of = (policy: 'decline' | 'record') =>
    Object.entries(policies)
      .filter(([name]) => chip[name as keyof typeof policies] === policy)
      .map(([, words]) => words)
      .join(', ') || 'none of these'
  const versions = Object.entries(chip.keyVersions).map(([index, version]) => `${index}=${version}`)
  return html`<details>
    <summary><code>${chip.profile}</code></summary>
    <ul>
      <li>Declined: ${of('decline')}</li>
      <li>Recorded: ${of('record')}</li>
      <li>Key versions by index: ${versions.join(', ') || 'the number of the index'}</li>
      <li>
        Counters accepted below the highest: ${chip.atcWindow}. A jump is more than
        ${chip.atcJump}.
      </li>
    </ul>
  </details>`
}

function switchForm(visit: Visit, { active, productId }: Product): Content {
  const hint = active
    ? 'No new cards of the product can be created. Its existing cards stay valid.'
    : 'Cards of the product can be created again.'
  return actForm(visit, {
    action: path`/console/products/${String(productId)}`,
    name: active ? 'Retire' : 'Issue again',
    fields: html`<input type="hidden" name="active" value="${active ? 'no' : 'yes'}">`,
    hint,
  })
}

export const switchProductAct: Act = {
  path: '/console/products/:productId',
  access: 'admin',
  perform: (visit, { active }) =>
    actAndReturn(visit, 'PATCH', path`/products/${visit.params.productId ?? ''}`, {
      body: { active: active === 'yes' },
      to: '/console/products',
      done: active === 'yes' ? 'The product is enabled.' : 'The product is disabled.',
    }),
}
