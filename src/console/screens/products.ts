import type { Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import { AdministeredProductSchema } from '../../listeners/private/schemas/products.ts'
import { badge } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { list, listed, pages } from '../listing.ts'
import { type Act, formFields, path, type Screen, type Visit } from '../screen.ts'

const access = ['admin', 'support.read'] as const
type Product = Static<typeof AdministeredProductSchema>

/** The card products. */
export const productsScreen: Screen = {
  path: '/console/products',
  access,
  navigation: 'Products',
  async show(visit) {
    const { entries, next } = await list(visit, '/products', AdministeredProductSchema)
    const columns = [
      'Product',
      'Scheme',
      'BIN',
      'Types',
      'Chip',
      'PIN',
      'CVV',
      'Renewal',
      'New cards',
      '',
    ] as const
    return {
      title: 'Products',
      body: html`${listed(
        'Products',
        columns,
        entries.map((product) => productRow(visit, product)),
        html`No products yet. Add one with <code>pinfold products create</code> or
          <code>POST /products</code>.`,
      )}${pages(visit, next)}`,
    }
  },
}

function productRow(visit: Visit, product: Product): Content {
  const pinIsKept = product.pinRevealable ? 'The PIN can be shown' : 'Only a PVV is stored'
  return html`<tr class="line">
    <th scope="row">
      <bdi class="cut" title="${product.productName}">${product.productName}</bdi>
      <span class="fine">${product.productId}</span>
    </th>
    <td>${product.schemeName} <span class="fine">${product.currencyCode}</span></td>
    <td><code>${product.bin}</code></td>
    <td>${product.cardTypes.join(', ')}</td>
    <td>${product.chip && chipDetails(product.chip)}</td>
    <td title="${pinIsKept}${product.refuseWeakPins ? ', weak PINs refused' : ''}">
      ${product.pinLength} digits, ${product.pinTryLimit} tries
      <div class="fine"><code>${product.pvk}</code></div>
    </td>
    <td>
      ${product.cvvTryLimit} tries
      <div class="fine"><code>${product.cvk}</code></div>
    </td>
    <td>${renewalCell(product)}</td>
    <td>${product.active ? badge('Issued', 'good') : badge('Retired')}</td>
    <td>${visit.scopes.has('admin') && switchForm(visit, product)}</td>
  </tr>`
}

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
  const title = active ? 'Retire' : 'Issue again'
  const hint = active
    ? 'No new cards of the product can be created. Its existing cards stay valid.'
    : 'Cards of the product can be created again.'
  return html`<details>
    <summary>${title}</summary>
    <form method="post" action="${path`/console/products/${String(productId)}`}">
      ${formFields(visit)}
      <input type="hidden" name="active" value="${active ? 'no' : 'yes'}">
      <p class="hint">${hint}</p>
      <button>${title}</button>
    </form>
  </details>`
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
