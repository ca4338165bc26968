import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Admissions } from '../listeners/http/in-flight.ts'
import { createGateway, type Gateway } from '../listeners/iso8583/gateway.ts'
import { linkObserver, watchLinks } from '../listeners/iso8583/observer.ts'
import type { Profiles } from '../listeners/iso8583/profile.ts'
import type { AuthorizationOperations } from '../operations/authorizations/authorization.ts'
import type { KeyOperations } from '../operations/keys/keys.ts'
import { type LinkOperations, linkUpkeep, listLinksToRun } from '../operations/links/links.ts'
import { createMacs } from '../operations/links/macs.ts'
import { createQuestions } from '../operations/links/questions.ts'
import { createAdvices } from '../operations/links/reversals.ts'
import { dial } from '../outbound/dial.ts'
import type { Databases } from '../storage/engine/database.ts'
import type { OpenTls } from './tls.ts'

interface LinksOptions {
  readonly databases: Databases
  readonly authorizing: AuthorizationOperations
  readonly keys: KeyOperations
  readonly admissions: Admissions
  readonly profiles: Profiles
  readonly registry: Registry
  readonly log: Logger
  /** Of the private listener, whose certificates links use; null where it speaks none. */
  readonly tls: OpenTls | null
}

/** The card networks' own wire, made and wired, not yet listening; and what administrators do with it. */
export function createLinks({
  admissions,
  authorizing,
  databases,
  keys,
  log,
  profiles,
  registry,
  tls,
}: LinksOptions): { readonly gateway: Gateway; readonly operations: LinkOperations } {
  const { background, networks } = databases
  const admission = admissions.network
  const gateway = createGateway({
    services: {
      questions: createQuestions(authorizing),
      advices: createAdvices(authorizing),
      macs: createMacs({ ...keys, database: networks }),
      keys,
      observe: linkObserver(registry, log),
      admit: async (networkId) => (admission ? admission.enter(networkId) : () => undefined),
      newRequestId: randomUUID,
    },
    profiles,
    upkeep: linkUpkeep(background),
    listLinks: () => listLinksToRun({ database: background }),
    tlsIdentity: () => tls?.identity() ?? null,
    dial,
  })
  watchLinks(registry, gateway.load)
  const operations: LinkOperations = {
    database: background,
    hsm: keys.hsm,
    profiles: new Set(profiles.keys()),
    tls: tls && { knowsAuthority: tls.identity().ca !== undefined },
  }
  return { gateway, operations }
}
