import { availableParallelism } from 'node:os'
import { isInstant, lastClockYear } from '../../domain/calendar.ts'
import { StartRefusal } from '../../domain/problem.ts'
import { parseDatabaseUrl } from '../../storage/engine/database-url.ts'
import { findDatabaseFileFaults, isLoopback } from './exposure.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** An outside issuer of tokens. */
export interface OutsideIssuer {
  readonly issuer: string
  readonly audience: string
  readonly clientClaim: string
}

/** The PKCS#11 token of the keys. */
export interface Pkcs11Config {
  /** The vendor's shared library. */
  readonly module: string
  readonly tokenLabel: string
  /** The file of the token's PIN: a variable would show it in the list of processes. */
  readonly pinFile: string
}

const processesMax = 128

/** Whether a listener can bind the host and a URL can contain it. */
const isHost = (text: string): boolean =>
  /^[\w.:-]+$/.test(text) && URL.canParse(`http://${text.includes(':') ? `[${text}]` : text}`)

/** Reads variables one at a time and collects faults. */
export class VariableReader {
  readonly faults: string[] = []
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** An empty variable counts as not set. */
  text(name: string): string | null {
    return this.#environment[name] || null
  }

  integer(name: string, otherwise: number, least: number, most: number): number {
    const text = this.text(name)
    if (text === null) return otherwise
    const number = Number(text)
    if (/^[0-9]+$/.test(text) && number >= least && number <= most) return number
    return this.#fault(`${name} must be a whole number from ${least} to ${most}.`, otherwise)
  }

  /**
   * Reads the number of processes. `auto` means one per core, and one with the embedded database.
   */
  processes(single: {
    readonly databaseUrl: string | null
    readonly sandboxSeed: string | null
  }): number {
    const isEmbedded = single.databaseUrl === null
    const isAuto = this.text('PROCESSES') === 'auto'
    if (isAuto && isEmbedded) return 1
    const cores = Math.min(availableParallelism(), processesMax)
    const count = isAuto ? cores : this.integer('PROCESSES', 1, 1, processesMax)
    if (count > 1 && isEmbedded) {
      this.faults.push(
        'PROCESSES must be 1 or auto with the embedded database, which one process uses. For ' +
          'more, set DATABASE_URL to a server.',
      )
    }
    if (count > 1 && single.sandboxSeed !== null) {
      this.faults.push(
        'SANDBOX_SEED requires PROCESSES=1: several processes would draw the same tokens and PANs.',
      )
    }
    return count
  }

  parseChoice<Value extends string>(
    name: string,
    values: readonly Value[],
    otherwise: Value,
  ): Value {
    const text = this.text(name)
    if (text === null) return otherwise
    const value = values.find((each) => each === text)
    return value ?? this.#fault(`${name} must be one of ${values.join(', ')}.`, otherwise)
  }

  address(
    hostName: string,
    portName: string,
    port: number,
  ): { readonly host: string; readonly port: number } {
    const host = this.text(hostName) ?? '127.0.0.1'
    return {
      host: isHost(host)
        ? host
        : this.#fault(`${hostName} must be a host name or an IP address.`, '127.0.0.1'),
      port: this.integer(portName, port, 1, 65_535),
    }
  }

  url(name: string): string | null {
    const text = this.text(name)
    if (text === null) return null
    const url = URL.canParse(text) ? new URL(text) : null
    const isPlain = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
    if (isPlain) return text.replace(/\/+$/, '')
    return this.#fault(`${name} must be an http or https URL without query or fragment.`, null)
  }

  /** Reads the URL of a database of one or more servers. */
  databaseUrl(name: 'DATABASE_URL' | 'MIGRATION_DATABASE_URL'): string | null {
    const text = this.text(name)
    try {
      if (text !== null) {
        parseDatabaseUrl(text)
        this.faults.push(...findDatabaseFileFaults(name, text))
      }
    } catch (error) {
      if (!(error instanceof StartRefusal)) throw error
      this.faults.push(error.message.replace(/^DATABASE_URL/, name))
    }
    return text
  }

  /** Reads the URL for migrations, which may name another role than the service's. */
  migrationDatabaseUrl(databaseUrl: string | null): string | null {
    const text = this.databaseUrl('MIGRATION_DATABASE_URL')
    if (text === null || databaseUrl !== null) return text
    return this.#fault('MIGRATION_DATABASE_URL requires DATABASE_URL, for the same database.', null)
  }

  instant(name: string): Date | null {
    const text = this.text(name)
    if (text === null) return null
    const instant = isInstant(text) ? new Date(text) : null
    if (instant && instant.getUTCFullYear() <= lastClockYear) return instant
    const rule = `an instant such as 2026-11-20T08:00:00Z, not after the year ${lastClockYear}`
    return this.#fault(`${name} must be ${rule}.`, null)
  }

  segment(name: string, otherwise: string): string {
    const text = this.text(name) ?? otherwise
    if (/^[a-z0-9][a-z0-9-]{0,63}$/i.test(text)) return text
    return this.#fault(`${name} must be one path segment of letters, digits and dashes.`, otherwise)
  }

  /** A configuration for other machines must set the mode explicitly. */
  sandbox(): boolean {
    const value = this.text('SANDBOX')
    if (value === 'true' || value === 'false') return value === 'true'
    if (value !== null) this.faults.push('SANDBOX must be true or false.')
    const beyond = [
      ...['DATABASE_URL', 'AUTH_ISSUER', 'PRIVATE_AUTH_ISSUER'].filter((name) => this.text(name)),
      ...['HOST', 'PRIVATE_HOST'].filter((name) => !isLoopback(this.text(name) ?? '127.0.0.1')),
    ]
    if (value === null && beyond.length > 0) {
      this.faults.push(
        `SANDBOX must be set with ${beyond.join(' and ')}: true for test keys and test cards, ` +
          'false for production.',
      )
    }
    return true
  }

  outsideIssuer(prefix: 'AUTH' | 'PRIVATE_AUTH'): OutsideIssuer | null {
    const issuer = this.url(`${prefix}_ISSUER`)
    const audience = this.text(`${prefix}_AUDIENCE`)
    const clientClaim = this.text(`${prefix}_CLIENT_CLAIM`) ?? 'client_id'
    if (issuer === null) return null
    if (audience === null) this.faults.push(`${prefix}_ISSUER requires ${prefix}_AUDIENCE.`)
    if (clientClaim === 'sub') this.faults.push(`${prefix}_CLIENT_CLAIM must not be sub.`)
    // The issuer is compared exactly, including a trailing slash.
    return {
      issuer: this.text(`${prefix}_ISSUER`) ?? issuer,
      audience: audience ?? '',
      clientClaim,
    }
  }

  /** Null for the software HSM. */
  pkcs11(): Pkcs11Config | null {
    if (this.parseChoice('HSM', ['software', 'pkcs11'], 'software') === 'software') return null
    const required = (name: string, what: string): string => {
      const text = this.text(name)
      if (text === null) this.faults.push(`HSM=pkcs11 requires ${name}: ${what}.`)
      return text ?? ''
    }
    return {
      module: required('PKCS11_MODULE', "the path of the token's shared library"),
      tokenLabel: required('PKCS11_TOKEN_LABEL', 'the label of the token'),
      pinFile: required('PKCS11_PIN_FILE', "the file of the token's PIN, mode 0600"),
    }
  }

  #fault<Value>(fault: string, otherwise: Value): Value {
    this.faults.push(fault)
    return otherwise
  }
}
