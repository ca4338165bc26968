import type { Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import { ClientSchema, NamedClientSchema } from '../../listeners/private/schemas/clients.ts'
import { WatchedEndpointsSchema } from '../../listeners/private/schemas/decision-endpoints.ts'
import { actForm } from '../act-form.ts'
import { badge, instant, renderActor } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { optionalReasonField, readReason } from '../fields.ts'
import { type KnownName, listKnownProducts, renderKnownNames } from '../known-names.ts'
import { type Column, list, pages, renderTable } from '../listing.ts'
import { type Act, formFields, path, type Screen, type Visit } from '../screen.ts'
import { renderWorstState, type WatchedEndpoint } from './decision-endpoints.ts'

const access = ['admin', 'support.read'] as const
type Client = Static<typeof ClientSchema>
type NamedClient = Static<typeof NamedClientSchema>

const kinds: Readonly<Record<string, string>> = {
  client: 'Client system',
  network: 'Card network',
  admin: 'Operator',
}

/** The clients, their roles, and the products that a client system may issue. */
export const clientsScreen: Screen = {
  path: '/console/clients',
  access,
  navigation: 'Clients',
  async show(visit) {
    const { entries, next } = await list(visit, '/clients', ClientSchema)
    return {
      title: 'Clients and grants',
      body: html`${renderTable({
        name: 'Clients',
        columns,
        rows: entries,
        empty: html`No clients yet. Register one with <code>pinfold clients create</code>.`,
        isOneLine: true,
      })}${pages(visit, next)}`,
    }
  },
}

const columns: readonly Column<Client>[] = [
  {
    title: 'Client',
    kind: 'name',
    cell: ({ clientId, clientName }) =>
      html`<a class="cut" href="${path`/console/clients/${clientId}`}"
        title="${clientId}"><bdi>${clientName}</bdi></a>`,
  },
  { title: 'Kind', cell: ({ kind }) => kinds[kind] },
  { title: 'Scopes', cell: ({ scopes }) => renderNames(scopes) },
  { title: 'Products', cell: ({ productIds }) => renderNames(productIds.map(String)) },
  { title: 'Authentication', cell: (client) => renderAuthentication(client) },
  { title: 'Access', cell: (client) => renderAccess(client) },
]

/** Renders names in one line, which are shown as a whole under the pointer. */
const renderNames = (names: readonly string[]): Content =>
  html`<span class="cut names" title="${names.join(', ')}">${names.join(', ')}</span>`

const proofs: Readonly<Record<string, string>> = {
  client_secret: 'Secret',
  private_key_jwt: 'Private key',
}

const renderAuthentication = ({ authentication, certificateBoundTokens }: Client): Content =>
  html`${proofs[authentication] ?? 'Nothing yet'}
    ${certificateBoundTokens && html`<span class="fine">and certificate</span>`}`

const renderAccess = ({ active, deliveriesSuspendedSince }: Client): Content =>
  html`${active ? badge('Active', 'good') : badge('Disabled', 'bad')}${
    deliveriesSuspendedSince &&
    html` <span class="fine">No deliveries since ${instant(deliveriesSuspendedSince)}</span>`
  }`

export const clientScreen: Screen = {
  path: '/console/clients/:clientId',
  access,
  navigation: null,
  async show(visit) {
    const { clientId = '' } = visit.params
    const client = await visit.read(path`/clients/${clientId}`, NamedClientSchema)
    const isAdministrator = visit.scopes.has('admin')
    const products = client.kind === 'client' ? await listKnownProducts(visit) : []
    const { endpoints } =
      client.kind === 'client'
        ? await visit.read(path`/clients/${clientId}/decision-endpoints`, WatchedEndpointsSchema)
        : { endpoints: [] }
    return {
      title: client.clientName,
      trail: { above: [{ name: 'Clients', path: '/console/clients' }], name: client.clientName },
      body: html`<div class="columns">
        ${facts(visit, client, endpoints)}
        <section aria-labelledby="may">
          <h2 id="may">Scopes</h2>
          ${
            client.scopes.length === 0
              ? html`<p class="empty">The client has no scope.</p>`
              : html`<ul>${client.scopes.map((scope) => html`<li><code>${scope}</code></li>`)}</ul>`
          }
        </section>
        ${client.kind === 'client' && grants(visit, client, products)}
        ${isAdministrator && switchForm(visit, client)}
      </div>`,
    }
  },
}

/** Renders the names of people and clients, separated by commas. */
const renderActors = (visit: Visit, ids: readonly string[], { actorNames }: NamedClient): Content =>
  ids.map((id, at) => html`${at > 0 && ', '}${renderActor(visit, id, actorNames[id])}`)

const facts = (visit: Visit, client: NamedClient, endpoints: readonly WatchedEndpoint[]): Content =>
  html`<section aria-labelledby="client">
    <h2 id="client">${renderAccess(client)}</h2>
    <dl>
      <dt>Client</dt><dd><code>${client.clientId}</code></dd>
      <dt>Kind</dt><dd>${kinds[client.kind]}</dd>
      <dt>Authentication</dt><dd>${renderAuthentication(client)}</dd>
      ${
        client.previousSecretUntil &&
        html`<dt>Former secret</dt>
          <dd>accepted until ${instant(client.previousSecretUntil)}</dd>`
      }
      <dt>Credentials</dt><dd>version ${client.credentialsVersion}</dd>
      <dt>Registered</dt>
      <dd>
        ${instant(client.createdAt)} by ${
          client.createdBy === null
            ? 'the configuration'
            : renderActors(visit, [client.createdBy], client)
        }
      </dd>
      ${
        client.confirmedBy.length > 0 &&
        html`<dt>Confirmed by</dt><dd>${renderActors(visit, client.confirmedBy, client)}</dd>`
      }
      ${
        client.controlledBy.length > 0 &&
        html`<dt>Could act as it</dt><dd>${renderActors(visit, client.controlledBy, client)}</dd>`
      }
      ${listOthers(visit, client)}
      ${
        client.kind === 'client' &&
        html`<dt>Decisions</dt>
          <dd>
            <a href="${path`/console/clients/${client.clientId}/decisions`}">endpoints</a>
            ${renderWorstState(endpoints)}
          </dd>`
      }
    </dl>
  </section>`

/** Lists the other pages about a client that the person may open. */
function listOthers({ scopes }: Visit, { clientId, kind }: NamedClient): Content {
  const links = [
    kind === 'client' &&
      scopes.has('support.read') &&
      html`<a href="${path`/console/webhooks?client=${clientId}`}">Webhooks</a>`,
    scopes.has('audit.read') &&
      html`<a href="${path`/console/disclosures?of=${clientId}`}">Disclosures</a>`,
    scopes.has('audit.read') &&
      html`<a href="${path`/console/audit-log?person=${clientId}`}">Acts</a>`,
  ].filter((link) => link !== false)
  return (
    links.length > 0 &&
    html`<dt>Leads to</dt>
      <dd>${links.map((link, at) => [at > 0 && ' · ', link])}</dd>`
  )
}

function switchForm(visit: Visit, { active, clientId }: Client): Content {
  const hint = active
    ? 'The client gets no more tokens, and its tokens are rejected within 60 seconds. Its data ' +
      'stays.'
    : 'The client can request tokens again.'
  const action = path`/console/clients/${clientId}`
  return html`<section aria-labelledby="access">
    <h2 id="access">Access</h2>
    ${actForm(visit, {
      action,
      name: active ? 'Disable' : 'Enable',
      fields: html`${optionalReasonField(visit, action)}
        <input type="hidden" name="active" value="${active ? 'no' : 'yes'}">`,
      hint,
      isDangerous: active,
    })}
  </section>`
}

function grants(
  visit: Visit,
  { clientId, productIds }: Client,
  products: readonly KnownName[],
): Content {
  const mayChange = visit.scopes.has('admin')
  const action = path`/console/clients/${clientId}/grants`
  const revokeForm = (productId: number) =>
    html`<form class="inline" method="post" action="${action}">
      ${formFields(visit)}
      <input type="hidden" name="productId" value="${productId}">
      <button name="act" value="revoke" class="quiet">Remove</button>
    </form>`
  const others = products.filter(({ id }) => !productIds.includes(Number(id)))
  return html`<section aria-labelledby="grants">
    <h2 id="grants">Products</h2>
    ${
      productIds.length === 0 &&
      html`<p class="empty">None. It cannot create cards until you grant it a product.</p>`
    }
    <ul>${productIds.map(
      (each) => html`<li>${renderProduct(each, products)}${mayChange && revokeForm(each)}</li>`,
    )}</ul>
    ${
      mayChange &&
      html`<form method="post" action="${action}" class="row">
        ${formFields(visit)}
        <label>Product<input name="productId" inputmode="numeric" pattern="[0-9]{1,10}"
          autocomplete="off" list="known-products" required></label>
        ${renderKnownNames('known-products', others)}
        <button name="act" value="grant">Grant</button>
      </form>`
    }
  </section>`
}

function renderProduct(productId: number, products: readonly KnownName[]): Content {
  const { name = null } = products.find(({ id }) => id === String(productId)) ?? {}
  return html`${productId}${name !== null && html` <span class="fine"><bdi>${name}</bdi></span>`}`
}

export const switchClientAct: Act = {
  path: '/console/clients/:clientId',
  access: 'admin',
  perform(visit, form) {
    const own = path`/clients/${visit.params.clientId ?? ''}`
    const active = form.active === 'yes'
    return actAndReturn(visit, 'PATCH', own, {
      body: { active, ...readReason(form) },
      to: `/console${own}`,
      done: active ? 'The client is enabled.' : 'The client is disabled.',
    })
  },
}

export const grantProductAct: Act = {
  path: '/console/clients/:clientId/grants',
  access: 'admin',
  perform(visit, { act, productId = '' }) {
    const own = path`/clients/${visit.params.clientId ?? ''}`
    const isGranted = act === 'grant'
    return actAndReturn(
      visit,
      isGranted ? 'PUT' : 'DELETE',
      `${own}${path`/products/${productId}`}`,
      {
        to: `/console${own}`,
        done: isGranted ? 'The product is granted.' : 'The grant is revoked.',
      },
    )
  },
}
