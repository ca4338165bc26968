import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { CallGate } from '../listeners/http/call-gate.ts'
import type { Admissions } from '../listeners/http/in-flight.ts'
import { createGateway, type Gateway } from '../listeners/iso8583/gateway.ts'
import { linkObserver, watchLinks } from '../listeners/iso8583/observer.ts'
import type { Profiles } from '../listeners/iso8583/profile-schema.ts'
import type { AuthorizationContext } from '../operations/authorizations/authorization.ts'
import type { KeyContext } from '../operations/keys/keys.ts'
import { createLinkAuthorizer } from '../operations/links/authorization-requests.ts'
import {
  createLinkUpkeep,
  isPlainLink,
  type Link,
  type LinkContext,
  listLinksToRun,
} from '../operations/links/links.ts'
import { createMacs } from '../operations/links/macs.ts'
import { createAdvices } from '../operations/links/reversals.ts'
import { dial } from '../outbound/dial.ts'
import type { Databases } from '../storage/engine/database.ts'
import type { OpenTls } from './tls.ts'

interface LinksOptions {
  readonly databases: Databases
  readonly authorizing: AuthorizationContext
  readonly keys: KeyContext
  readonly admissions: Admissions
  readonly gate: CallGate | null
  readonly profiles: Profiles
  /** Whether links beyond this machine may work without TLS. */
  readonly allowsPlain: boolean
  readonly registry: Registry
  readonly log: Logger
  /** TLS of the private listener, whose certificates links use; null without TLS. */
  readonly tls: OpenTls | null
}

const plainRefusal =
  'The link does not run: it is unencrypted beyond loopback. Give it TLS, or set ' +
  'ACCEPT_PLAIN_LINKS=yes.'

/** The links of this process, and their administration. */
interface Links {
  readonly gateway: Gateway
  readonly context: LinkContext
  /** Forgets cached keys, and reads the configuration of links again. */
  forget(): Promise<void>
}

/** Creates the links of card networks, not yet listening, and their administration. */
export function createLinks({
  admissions,
  allowsPlain,
  authorizing,
  databases,
  gate,
  keys,
  log,
  profiles,
  registry,
  tls,
}: LinksOptions): Links {
  const { background, networks } = databases
  const admission = admissions.network
  const macs = createMacs({ ...keys, database: networks })
  const admit = async (networkId: string) => {
    const yieldTurn = (await admission?.enter(networkId)) ?? (() => undefined)
    try {
      const leaveGate = await gate?.enter()
      const leave = () => {
        leaveGate?.()
        yieldTurn()
      }
      return { yieldTurn, leave }
    } catch (error) {
      yieldTurn()
      throw error
    }
  }
  /** Returns the reason why a link without TLS is refused, and logs it; null when it may run. */
  function refusePlain(link: Link): string | null {
    if (allowsPlain || !isPlainLink(link)) return null
    log.error({ link: link.linkName }, plainRefusal)
    return plainRefusal
  }
  const gateway = createGateway({
    services: {
      authorizer: createLinkAuthorizer(authorizing),
      advices: createAdvices(authorizing),
      macs,
      keys,
      observe: linkObserver(registry, log),
      admit,
      newRequestId: randomUUID,
    },
    profiles,
    upkeep: createLinkUpkeep(background),
    listLinks: () => listLinksToRun({ database: background }),
    findRefusal: refusePlain,
    tlsIdentity: () => tls?.identity() ?? null,
    dial,
  })
  watchLinks(registry, gateway.load)
  const context: LinkContext = {
    database: background,
    hsm: keys.hsm,
    profiles: new Set(profiles.keys()),
    allowsPlain,
    tls: tls && { knowsAuthority: tls.identity().ca !== undefined },
  }
  const forget = async (): Promise<void> => {
    macs.forget()
    await gateway.refresh()
  }
  return { gateway, context, forget }
}
