import { relative, resolve } from 'node:path'
import { auditRetentionLeastDays, erasureLeastDays } from './audit.ts'
import { findPublicFileFault, wideBlocks } from './exposure.ts'
import {
  type Acceptance,
  type Configured,
  clearDatabase,
  clearIssuer,
  clearListener,
  findKeyFile,
  missing,
  ofSandbox,
  type Refusal,
  secretFile,
} from './refusals.ts'
import type { VariableReader } from './variables.ts'

/** A refusal that the configuration accepts. */
export interface AcceptedRisk {
  readonly acceptance: Acceptance
  readonly found: string
  readonly why: string
  readonly remedy: string
}

/** All settings that production refuses. The table in the documentation is generated from it. */
export const refusals: readonly Refusal[] = [
  missing('DATABASE_URL', ({ databaseUrl }) => databaseUrl === null, 'Name a PostgreSQL server.'),
  clearDatabase('DATABASE_URL', 'databaseUrl'),
  clearDatabase('MIGRATION_DATABASE_URL', 'migrationDatabaseUrl'),
  {
    variable: 'HSM',
    refused: 'is `software`',
    why:
      'Keys and PINs are in clear in the memory of the process, which is not a secure ' +
      'cryptographic device.',
    remedy: 'Set HSM=pkcs11 and its variables.',
    acceptance: 'ACCEPT_SOFTWARE_HSM',
    find: ({ pkcs11 }) => (pkcs11 === null ? 'is software' : null),
  },
  missing(
    'MASTER_KEY_FILE',
    ({ masterKeyFile, pkcs11 }) => pkcs11 === null && masterKeyFile === null,
    'Name the file of the master key, or set HSM=pkcs11.',
  ),
  {
    variable: 'MASTER_KEY_FILE',
    refused: 'lies in `DATA_DIR`',
    why:
      'The key would be copied, deleted or mounted together with that folder, which also holds ' +
      'the key of a sandbox.',
    remedy: 'Keep it in a folder of its own.',
    acceptance: null,
    find: ({ dataDir, masterKeyFile }) => {
      if (masterKeyFile === null) return null
      const path = relative(dataDir, resolve(masterKeyFile))
      const isWithin = path === '' || !/^(\.\.([/\\]|$)|[/\\]|[a-z]:)/i.test(path)
      return isWithin ? `lies in DATA_DIR (${dataDir})` : null
    },
  },
  secretFile('MASTER_KEY_FILE', ({ masterKeyFile }) => masterKeyFile),
  secretFile('PKCS11_PIN_FILE', ({ pkcs11 }) => pkcs11?.pinFile ?? null),
  secretFile('TLS_KEY_FILE', ({ publicListener }) => findKeyFile(publicListener)),
  secretFile('PRIVATE_TLS_KEY_FILE', ({ privateListener }) => findKeyFile(privateListener)),
  missing(
    'ADMIN_JWK_FILE',
    ({ adminJwkFile }) => adminJwkFile === null,
    "Name the file of the first administrator's public key.",
  ),
  {
    variable: 'ADMIN_JWK_FILE',
    refused: 'names a file that every account may write',
    why: 'A person who writes another key into the file is the administrator after the next start.',
    remedy: 'chmod 644 it.',
    acceptance: 'ACCEPT_OPEN_FILES',
    find: ({ adminJwkFile }) => {
      const fault = adminJwkFile && findPublicFileFault(adminJwkFile)
      return fault ? `names a file that every account may write: ${fault}` : null
    },
  },
  {
    variable: 'BASE_URL',
    refused: 'is not https',
    why: 'Clients would send secrets and PINs in clear.',
    remedy:
      'Set it to the https address at which clients reach the public listener, or a proxy in ' +
      'front of it.',
    acceptance: null,
    find: ({ baseUrl }) => (/^https:/i.test(baseUrl) ? null : 'is not https'),
  },
  clearListener('HOST', 'ACCEPT_PLAIN_PUBLIC_LISTENER', 'publicListener'),
  clearListener('PRIVATE_HOST', 'ACCEPT_PLAIN_PRIVATE_LISTENER', 'privateListener'),
  clearIssuer('AUTH_ISSUER', ({ outsideIssuer }) => outsideIssuer?.issuer),
  clearIssuer('PRIVATE_AUTH_ISSUER', ({ privateOutsideIssuer }) => privateOutsideIssuer?.issuer),
  clearIssuer('CONSOLE_ISSUER', ({ console: { issuer } }) => issuer?.issuer),
  secretFile('CONSOLE_CLIENT_SECRET_FILE', ({ console: { issuer } }) => issuer?.secretFile ?? null),
  secretFile('CONSOLE_CLIENT_JWK_FILE', ({ console: { issuer } }) => issuer?.jwkFile ?? null),
  {
    variable: 'PRIVATE_BASE_URL',
    refused: 'is not https, and CONSOLE_ISSUER is set',
    why: 'Browsers would send session cookies in clear.',
    remedy:
      'Set it to the https address at which browsers reach the private listener, or a proxy in ' +
      'front of it.',
    acceptance: null,
    find: ({ console: { issuer }, privateUrl }) =>
      issuer && !/^https:/i.test(privateUrl) ? 'is not https, and CONSOLE_ISSUER is set' : null,
  },
  {
    variable: 'CONSOLE_AUDIENCE',
    refused: 'is the same as `AUTH_AUDIENCE` or `PRIVATE_AUTH_AUDIENCE`',
    why: 'The service would accept a program’s token as a person’s.',
    remedy: 'Configure another audience for people’s tokens at the issuer.',
    acceptance: null,
    find: ({ console: { issuer }, outsideIssuer, privateOutsideIssuer }) => {
      const same = [outsideIssuer, privateOutsideIssuer].filter(
        (other) => issuer?.audience && other?.audience === issuer.audience,
      )
      return same.length > 0 ? 'is the same as AUTH_AUDIENCE or PRIVATE_AUTH_AUDIENCE' : null
    },
  },
  {
    variable: 'PRIVATE_AUTH_AUDIENCE',
    refused: 'is the same as `AUTH_AUDIENCE`',
    why: 'The private listener would accept the tokens of client systems.',
    remedy: 'Configure another audience for tokens of the private listener at the issuer.',
    acceptance: null,
    find: ({ outsideIssuer, privateOutsideIssuer }) =>
      outsideIssuer && outsideIssuer.audience === privateOutsideIssuer?.audience
        ? 'is the same as AUTH_AUDIENCE'
        : null,
  },
  {
    variable: 'OUTBOUND_ALLOW_CIDRS',
    refused:
      'has a block wider than `/8` (IPv6: `/16`), or a block with 169.254.169.254, in any ' +
      'spelling, or fd00:ec2::254',
    why:
      'A client could make this machine call any address in your network, or fetch the machine’s ' +
      'cloud credentials.',
    remedy: 'List only the blocks of your own endpoints, such as 10.20.0.0/16.',
    acceptance: 'ACCEPT_WIDE_OUTBOUND',
    find: ({ delivery: { allowCidrs } }) => {
      const wide = wideBlocks(allowCidrs ?? [])
      return wide.length === 0 ? null : `lists ${wide.join(' and ')}`
    },
  },
  {
    variable: 'NODE_TLS_REJECT_UNAUTHORIZED',
    refused: 'is `0`',
    why:
      'Node verifies no certificate: an attacker can impersonate webhooks, issuers and the ' +
      'database.',
    remedy: 'Remove it; name a certificate authority of your own in NODE_EXTRA_CA_CERTS.',
    acceptance: null,
    find: (_, read) => (read.text('NODE_TLS_REJECT_UNAUTHORIZED') === '0' ? 'is 0' : null),
  },
  {
    variable: 'RATE_LIMIT',
    refused: 'is `off`',
    why: 'Disclosures of PINs and unblocks would have no limit.',
    remedy: 'Remove it.',
    acceptance: null,
    find: ({ limits }) => (limits === null ? 'is off' : null),
  },
  {
    variable: 'AUDIT_RETENTION_DAYS',
    refused: `is less than ${auditRetentionLeastDays}`,
    why: 'PCI DSS 10.5.1 requires records of twelve months.',
    remedy: 'Remove it.',
    acceptance: null,
    find: ({ audit: { retentionDays } }) =>
      retentionDays < auditRetentionLeastDays ? `is ${retentionDays}` : null,
  },
  {
    variable: 'AUDIT_ERASURE_LEAST_DAYS',
    refused: `is less than ${erasureLeastDays}`,
    why: 'The requester of an erasure could remove traces of the same day.',
    remedy: 'Remove it.',
    acceptance: null,
    find: ({ audit }) =>
      audit.erasureLeastDays < erasureLeastDays ? `is ${audit.erasureLeastDays}` : null,
  },
  ofSandbox('SANDBOX_SEED', ({ sandboxSeed }) => sandboxSeed !== null),
  ofSandbox('SANDBOX_CLOCK', ({ sandboxClock }) => sandboxClock !== null),
]

/**
 * Checks a configuration of production against the table and adds refusals to the reader's faults.
 * @returns the accepted risks.
 */
export function acceptedRisks(config: Configured, read: VariableReader): readonly AcceptedRisk[] {
  const accepted: AcceptedRisk[] = []
  for (const { acceptance, find, remedy, variable, why = '' } of refusals) {
    const found = find(config, read)
    if (found === null) continue
    if (acceptance !== null && read.text(acceptance) === 'yes') {
      accepted.push({ acceptance, found: `${variable} ${found}.`, why, remedy })
      continue
    }
    const way = acceptance === null ? '' : `Or set ${acceptance}=yes to accept the risk.`
    read.faults.push([`${variable} ${found}.`, why, remedy, way].filter(Boolean).join(' '))
  }
  return accepted
}
