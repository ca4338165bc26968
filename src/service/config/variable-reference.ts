/** A variable of the environment: its name, its default and its meaning, in Markdown. */
export type DescribedVariable = readonly [name: string, otherwise: string, meaning: string]

export interface VariableGroup {
  readonly title: string
  readonly variables: readonly DescribedVariable[]
}

const none = 'none'
const samePrivate = 'The same for the private listener'

/** Every variable, as docs/reference/configuration.md lists it. */
export const variableGroups: readonly VariableGroup[] = [
  {
    title: 'Mode, data and log',
    variables: [
      [
        'SANDBOX',
        '`true`',
        '`true`: a sandbox with demo clients, products, simulator and clock. ' +
          '`false`: production, which [refuses insecure settings](production.md). ' +
          'Required beyond loopback, with ' +
          '`DATABASE_URL`, and with an outside issuer',
      ],
      [
        'DATA_DIR',
        '`.data`',
        'Folder of the embedded database, `sandbox.json` and the master key of the sandbox',
      ],
      [
        'LOG_LEVEL',
        '`info`',
        'The lowest level of log lines. The log is text on a terminal, and JSON lines elsewhere',
      ],
    ],
  },
  {
    title: 'Database and processes',
    variables: [
      [
        'DATABASE_URL',
        none,
        'PostgreSQL server (15 or later; tested on 15 and 18) in place of the embedded database. ' +
          'Add `?sslmode=verify-full` for another machine: without `sslmode` the connection is ' +
          'not encrypted. `PGHOST` and `PGSSLMODE` supply missing parts. ' +
          '[Several servers](../guides/operating.md#database-failover) need ' +
          '`target_session_attrs=read-write`',
      ],
      [
        'MIGRATION_DATABASE_URL',
        none,
        'The same database as the role that owns the schema. Only `pinfold migrate` needs it ' +
          '([two roles](database.md#two-roles))',
      ],
      [
        'DATABASE_POOL_SIZE',
        '`10`',
        'Connections of each process. Five or more are ' +
          '[divided](../guides/operating.md#tenant-isolation) among clients, networks and ' +
          'background jobs',
      ],
      [
        'PROCESSES',
        '`1`',
        'Processes behind the same ports. `auto`: one for each core. More than 1 needs ' +
          '`DATABASE_URL` ([several processes](../guides/operating.md#several-processes))',
      ],
    ],
  },
  {
    title: 'Listeners',
    variables: [
      ['HOST', '`127.0.0.1`', 'Address of the public listener'],
      ['PORT', '`8080`', 'Port of the public listener'],
      [
        'PRIVATE_HOST',
        '`127.0.0.1`',
        'Address of the private listener: networks, administration, health, metrics',
      ],
      ['PRIVATE_PORT', '`8081`', 'Port of the private listener'],
      [
        'BASE_URL',
        'from `HOST` and `PORT`',
        'URL of the public listener for clients, and the issuer of tokens',
      ],
      [
        'PRIVATE_BASE_URL',
        'from `PRIVATE_HOST` and `PRIVATE_PORT`',
        'URL of the private listener for networks and operators',
      ],
      ['PROCESSOR_PATH', '`processor`', 'Last segment of `/thr/processor`'],
      [
        'HOST_NAMES',
        none,
        'Further host names of a sandbox, separated by commas, such as ' +
          '`pinfold.test,pinfold.internal:8080`. Others get 421. A name without a ' +
          'port is valid for the ports of both listeners and ' +
          'the default port. Production, health and metrics answer every name',
      ],
      [
        'TRUSTED_PROXIES',
        none,
        'Address blocks of proxies whose `X-Forwarded-For` is trusted, such as ' +
          '`10.0.0.0/8,fd00::/8`. A block wider than `/8` is refused',
      ],
      ['CONNECTIONS_MAX', '`3000`', 'Simultaneous connections of each listener in each process'],
      [
        'CONNECTIONS_PER_ADDRESS_MAX',
        '`1200`',
        'The same for one address. Trusted proxies have no such limit',
      ],
      [
        'KEEP_ALIVE_SECONDS',
        '`72`',
        'How long an idle connection stays open. Set more than the idle timeout of the load ' +
          'balancer: 620 for Google (600 s)',
      ],
    ],
  },
  {
    title: 'TLS',
    variables: [
      ['TLS_CERT_FILE', none, 'Certificate of the public listener ([TLS](tls.md))'],
      ['TLS_KEY_FILE', none, 'Key of that certificate'],
      ['TLS_CLIENT_CA_FILE', none, 'Authorities of accepted client certificates'],
      [
        'TLS_CLIENT_CERT',
        '`required` with `TLS_CLIENT_CA_FILE`',
        'Whether clients must, may or cannot present a certificate',
      ],
      ['PRIVATE_TLS_CERT_FILE', none, samePrivate],
      ['PRIVATE_TLS_KEY_FILE', none, samePrivate],
      ['PRIVATE_TLS_CLIENT_CA_FILE', none, samePrivate],
      ['PRIVATE_TLS_CLIENT_CERT', '`required` with `PRIVATE_TLS_CLIENT_CA_FILE`', samePrivate],
      ['TLS_REFRESH_MS', '`10000`', 'Interval at which these files are checked for changes'],
      ['NODE_TLS_REJECT_UNAUTHORIZED', none, 'A variable of Node.js. `0` is refused in production'],
    ],
  },
  {
    title: 'Keys',
    variables: [
      ['HSM', '`software`', '`pkcs11`: keys are in a token ([PKCS#11](pkcs11.md))'],
      [
        'MASTER_KEY_FILE',
        'made by the sandbox',
        'File of the master key: 64 hexadecimal digits. Not with `HSM=pkcs11`',
      ],
      ['PKCS11_MODULE', none, 'Shared library of the vendor'],
      ['PKCS11_TOKEN_LABEL', none, 'Label of the token'],
      ['PKCS11_PIN_FILE', none, 'File of the PIN of the token, readable by its owner alone'],
      ['KEY_REFRESH_MS', '`1000`', 'Interval at which each process reads new keys'],
      [
        'REENCRYPTION_ROWS_PER_SECOND',
        '`1000`',
        'Rows that a rotation re-encrypts in a second, at most',
      ],
    ],
  },
  {
    title: 'Authentication',
    variables: [
      [
        'ADMIN_JWK_FILE',
        none,
        'Public key (JWK) of the administrator `admin`, or a JWK Set of several, where `kid` is ' +
          'the client id ([first administrators](admin.md#first-administrators))',
      ],
      ['AUTH_ISSUER', none, 'Outside issuer of tokens for the public listener'],
      ['AUTH_AUDIENCE', none, 'Its `aud`. Required with `AUTH_ISSUER`'],
      ['AUTH_CLIENT_CLAIM', '`client_id`', 'Claim that names the client'],
      ['PRIVATE_AUTH_ISSUER', none, samePrivate],
      ['PRIVATE_AUTH_AUDIENCE', none, samePrivate],
      ['PRIVATE_AUTH_CLIENT_CLAIM', '`client_id`', samePrivate],
    ],
  },
  {
    title: 'Console and approvals',
    variables: [
      [
        'CONSOLE_ISSUER',
        "the sandbox's own",
        'Identity provider of the [console](console.md). Production has no console without it',
      ],
      ['CONSOLE_CLIENT_ID', none, 'Client id of the console there'],
      [
        'CONSOLE_CLIENT_SECRET_FILE',
        none,
        'File of the client secret. One of this and the next is required with `CONSOLE_ISSUER`',
      ],
      ['CONSOLE_CLIENT_JWK_FILE', none, 'File of the private key (JWK)'],
      ['CONSOLE_GROUPS_CLAIM', '`groups`', 'Claim that names the groups of an operator'],
      ['CONSOLE_ROLES', none, 'Groups of each role: `support=desk;key-officer=keys,custody`'],
      [
        'CONSOLE_AUDIENCE',
        none,
        "`aud` of that issuer's access tokens for operators' calls to the private listener",
      ],
      ['CONSOLE_READ_ONLY', '`no`', '`yes`: the console makes no changes'],
      [
        'APPROVALS',
        '`none`; in production with `CONSOLE_ISSUER`: `all`',
        'Acts that another operator must approve: kinds separated by commas, `all` or `none` ' +
          '([approvals](approvals.md))',
      ],
      [
        'APPROVALS_UNBLOCK_CARDS',
        '`10`',
        'Cards that one operator can unblock in bulk in an hour without an approval',
      ],
      [
        'APPROVALS_FIRST_ADMINISTRATORS',
        '`refuse`; in the sandbox `ask`',
        '`ask`: first administrators may request acts that need an approval ' +
          '([approvals](approvals.md#first-administrators))',
      ],
    ],
  },
  {
    title: 'Limits',
    variables: [
      ['RATE_LIMIT', '`on`', '`off` turns off every limit of this table. Only in the sandbox'],
      ['RATE_PER_SECOND', '`200`', 'Calls of a client in a second'],
      ['RATE_BURST', '`400`', 'Calls of a client at once'],
      [
        'CALLS_IN_FLIGHT',
        '`16`',
        'Simultaneous calls of a client in each process. A list counts as eight',
      ],
      [
        'CALL_WAIT_MS',
        '`4000`',
        'Longest wait of a call beyond that limit, or of a request beyond the limit of its network',
      ],
      ['TOKEN_RATE_PER_SECOND', '`10`', 'Tokens of a client in a second'],
      ['TOKEN_RATE_BURST', '`10`', 'Tokens of a client at once'],
      [
        'TOKEN_FAILURE_RATE_PER_SECOND',
        'as `TOKEN_RATE_PER_SECOND`',
        'Failed authentications from one address in a second, over all client ids',
      ],
      ['TOKEN_FAILURE_RATE_BURST', 'as `TOKEN_RATE_BURST`', 'The same at once'],
      [
        'OPEN_RATE_PER_SECOND',
        '`50`',
        'Calls without a token from one address in a second: public keys, discovery, pages',
      ],
      ['OPEN_RATE_BURST', '`200`', 'The same at once'],
      ['REVEALS_PER_CARD_HOUR', '`10`', 'Disclosures of a card in an hour'],
      ['REVEALS_PER_CLIENT_HOUR', '`1000`', 'Disclosures of a client in an hour'],
      [
        'BAD_SESSION_KEYS_PER_CARD_HOUR',
        '`100`',
        'Rejected session keys of a card in an hour. Further session keys are not examined',
      ],
      ['BAD_SESSION_KEYS_PER_CLIENT_HOUR', '`1000`', 'The same for a client'],
      ['UNBLOCKS_PER_CARD_DAY', '`10`', 'Unblocks of a card in a day, for each of PIN and CVV'],
      [
        'PAN_SEARCHES_PER_PERSON_HOUR',
        '`20`',
        'Searches of one operator by a whole card number in an hour',
      ],
    ],
  },
  {
    title: 'Events and outbound calls',
    variables: [
      [
        'OUTBOUND_ALLOW_CIDRS',
        'loopback in the sandbox, else none',
        'Non-public addresses allowed for webhooks, decision endpoints and outside issuers: ' +
          '`10.20.0.0/16,fd12:3456::/32`',
      ],
      [
        'OUTBOUND_PORTS',
        "all but the service's own",
        'Ports allowed for webhooks, decision endpoints and outside issuers: `443,8443`',
      ],
      ['DELIVERY_TIMEOUT_MS', '`10000`', 'Time limit of one webhook request'],
      ['EVENT_RETENTION_DAYS', '`30`', 'Retention of events and deliveries'],
      [
        'ATTEMPT_RETENTION_DAYS',
        '`400`',
        'Retention of PIN and CVV attempts, and of authorizations and decisions',
      ],
      ['PAYMENT_RETENTION_DAYS', '`400`', 'Retention of payments that are over'],
    ],
  },
  {
    title: 'Audit log',
    variables: [
      [
        'AUDIT_LOG_ORIGIN',
        'host and port of `BASE_URL`, and `/audit`',
        'Name of the [audit log](../explanation/audit-log.md) in its checkpoints. Fixed when the ' +
          'log begins',
      ],
      [
        'AUDIT_CHECKPOINT_FILE',
        '`audit-checkpoint` in `DATA_DIR`',
        'File of the newest checkpoint, outside the database',
      ],
      [
        'AUDIT_WITNESS_POLICY',
        none,
        'File that names the witnesses ([c2sp.org/tlog-policy](https://c2sp.org/tlog-policy))',
      ],
      [
        'AUDIT_WITNESS_TIMEOUT_MS',
        '`1000`',
        'Time limit of a witness. Receipts of new entries wait as long',
      ],
      [
        'AUDIT_LOG_ML_DSA',
        '`no`',
        '`yes`: checkpoints are signed with ML-DSA-44, too. Not with `HSM=pkcs11`',
      ],
      [
        'AUDIT_RETENTION_DAYS',
        '`400`',
        'Retention of the text of audit entries. Production needs at least 400',
      ],
      [
        'AUDIT_ERASURE_LEAST_DAYS',
        '`7`',
        'Least age of an audit entry at a requested erasure. Production needs at least 7',
      ],
    ],
  },
  {
    title: 'ISO 8583 links',
    variables: [
      ['LINK_PORT', '`8583`', "Port of the sandbox's own [link](iso8583.md). `0`: no link"],
      [
        'LINK_PROFILES_DIR',
        none,
        'Folder of [profiles](iso8583.md#profiles) besides the built-in ones',
      ],
    ],
  },
  {
    title: 'Sandbox',
    variables: [
      [
        'SANDBOX_SEED',
        none,
        'Any text: tokens, PANs and PINs are the same in every run. Only with `PROCESSES=1`',
      ],
      [
        'SANDBOX_CLOCK',
        'where the last move left it, else the clock of the machine',
        'Start time: `2026-11-20T08:00:00Z`',
      ],
    ],
  },
  {
    title: 'Accepted risks of production',
    variables: [
      ['ACCEPT_SOFTWARE_HSM', none, 'Production runs on the software HSM'],
      [
        'ACCEPT_PLAIN_DATABASE',
        none,
        'A database on another machine without encryption or verification',
      ],
      [
        'ACCEPT_PLAIN_PUBLIC_LISTENER',
        none,
        'A public listener beyond loopback in plain HTTP, behind a proxy that ends TLS',
      ],
      ['ACCEPT_PLAIN_PRIVATE_LISTENER', none, samePrivate],
      ['ACCEPT_PLAIN_LINKS', none, '[Links](iso8583.md#links-in-clear) in clear beyond loopback'],
      ['ACCEPT_OPEN_FILES', none, 'Files of secrets that other accounts may read'],
      ['ACCEPT_WIDE_OUTBOUND', none, '`OUTBOUND_ALLOW_CIDRS` with blocks wider than `/8`'],
    ],
  },
  {
    title: 'Command line',
    variables: [
      ['PINFOLD_URL', none, 'Public listener of a remote service'],
      ['PINFOLD_PRIVATE_URL', none, 'Its private listener'],
      ['PINFOLD_CLIENT_ID', "the sandbox's own", 'Client that calls'],
      ['PINFOLD_CLIENT_SECRET', none, 'Secret of the client'],
      ['PINFOLD_JWK_FILE', none, 'File of its private key (JWK), in place of a secret'],
      ['PINFOLD_CERT_FILE', none, 'Client certificate, where a listener requires one'],
      ['PINFOLD_KEY_FILE', none, 'Key of that certificate'],
      [
        'PINFOLD_PERSON_TOKEN',
        'that of the last `pinfold sign-in`',
        'Access token of an operator, for commands with `--as-person`',
      ],
    ],
  },
]
