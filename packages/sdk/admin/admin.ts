/**
 * An operator's way to the private listener of Pinfold: products, clients, card networks, keys,
 * approvals. Each operation of `api/private.openapi.json` is a method of the same name.
 *
 * ```ts
 * const admin = createAdministration({ baseUrl, privateUrl, clientId, privateKey })
 * await admin.createLink({ body: { linkName: 'acme-1', networkId: 'acme', ...address } })
 * for await (const link of admin.listLinks()) show(link.linkName, link.state)
 * await admin.changeLink({ linkName: 'acme-1', body: { active: false } })
 * ```
 */
export { CallFailed, PinfoldError, Problem } from '../client/errors.ts'
export {
  type Administration,
  type AdministrationOptions,
  createAdministration,
  type OperationInput,
  type OperationResult,
} from './administration.ts'
export type { components as AdministrationDocument } from './generated/openapi.ts'
