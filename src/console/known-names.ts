import Type, { type TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { type Content, html } from '../listeners/http/html.ts'
import { ClientSchema } from '../listeners/private/schemas/clients.ts'
import { AdministeredProductSchema } from '../listeners/private/schemas/products.ts'
import { cursorAfter } from './listener-answers.ts'
import type { Visit } from './screen.ts'

/** An id that a field takes, with its name. */
export interface KnownName {
  readonly id: string
  readonly name: string
}

/** A longer list is not offered: it would not be short. */
const offeredMost = 100

/** Lists the clients; none if there are too many to choose from, or the reader may not see them. */
export const listKnownClients = async (visit: Visit): Promise<readonly KnownName[]> =>
  (await readShortList(visit, '/clients', ClientSchema)).map(({ clientId, clientName }) => ({
    id: clientId,
    name: clientName,
  }))

/** Returns the names of known clients or products by their ids. */
export const indexNames = (known: readonly KnownName[]): ReadonlyMap<string, string> =>
  new Map(known.map(({ id, name }) => [id, name]))

/** Lists the products; none if there are too many to choose from. */
export const listKnownProducts = async (visit: Visit): Promise<readonly KnownName[]> =>
  (await readShortList(visit, '/products', AdministeredProductSchema)).map(
    ({ productId, productName }) => ({ id: String(productId), name: productName }),
  )

async function readShortList<Schema extends TSchema>(
  visit: Visit,
  address: string,
  schema: Schema,
) {
  const answer = await visit.call('GET', `${address}?limit=${offeredMost}`)
  const list = Type.Array(schema)
  const isShort = answer.status === 200 && cursorAfter(answer) === null
  return isShort && Check(list, answer.body) ? answer.body : []
}

/** Renders the names that an input offers: `<input list="ID">`. */
export const renderKnownNames = (id: string, known: readonly KnownName[]): Content =>
  known.length > 0 &&
  html`<datalist id="${id}">${known.map(
    (each) => html`<option value="${each.id}">${each.name}</option>`,
  )}</datalist>`
