/**
 * Certificates of test authorities, made anew, and calls over TLS with them.
 *
 * ```ts
 * const authority = await makeAuthority()
 * const files = await writeIdentity(folder, 'server', await authority.issue('localhost'))
 * const answer = await fetchWith({ ca: authority.pem })('https://localhost:8443/livez')
 * ```
 */
import 'reflect-metadata'
import { createPublicKey, type KeyObject, randomBytes, webcrypto } from 'node:crypto'
import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, type AgentOptions, request } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { atEndOfFile } from './end-of-file.ts'

/** A certificate and its key, both PEM. */
export type Identity = { cert: string; key: string }

export type Authority = {
  /** Its own certificate, PEM. */
  pem: string
  /** A certificate for this name of a machine; it lasts a day from now unless said otherwise. */
  issue: (name: string, lasting?: { from?: Date; to?: Date; key?: KeyObject }) => Promise<Identity>
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const dayMs = 86_400_000

export const makeAuthority = async (): Promise<Authority> => {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const name = `CN=Test authority ${randomBytes(4).toString('hex')}`
  const root = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name,
    keys,
    signingAlgorithm: algorithm,
    ...lastingFrom({}),
    extensions: [new BasicConstraintsExtension(true, 0, true)],
  })
  const issue: Authority['issue'] = async (subject, lasting = {}) => {
    const own = lasting.key
      ? toCryptoKeys(lasting.key)
      : await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: `CN=${subject}`,
      issuer: name,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      ...lastingFrom(lasting),
      extensions: [
        new SubjectAlternativeNameExtension([
          { type: 'dns', value: subject },
          { type: 'ip', value: '127.0.0.1' },
        ]),
      ],
    })
    return { cert: certificate.toString('pem'), key: await exportPem(own.privateKey) }
  }
  return { pem: root.toString('pem'), issue }
}

/** A private RSA key, and its public half, as the generator takes them. */
const toCryptoKeys = (key: KeyObject) => {
  const rsa = { name: 'RSA-PSS', hash: 'SHA-256' }
  return {
    publicKey: createPublicKey(key).toCryptoKey(rsa, true, ['verify']),
    privateKey: key.toCryptoKey(rsa, true, ['sign']),
  }
}

const serialNumber = () => randomBytes(8).toString('hex')

const lastingFrom = ({ from, to }: { from?: Date; to?: Date }) => ({
  notBefore: from ?? new Date(Date.now() - dayMs),
  notAfter: to ?? new Date(Date.now() + dayMs),
})

const exportPem = async (key: webcrypto.CryptoKey): Promise<string> => {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key))
  return `-----BEGIN PRIVATE KEY-----\n${bytes.toString('base64')}\n-----END PRIVATE KEY-----\n`
}

/** Writes both files, each whole at once. @returns their paths. */
export const writeIdentity = async (folder: string, name: string, { cert, key }: Identity) => ({
  certFile: await writeWhole(folder, `${name}.crt`, cert),
  keyFile: await writeWhole(folder, `${name}.key`, key),
})

/** A reader sees the file as it was or as it is, never a part. */
export const writeWhole = async (folder: string, name: string, text: string): Promise<string> => {
  const path = join(folder, name)
  const draft = `${path}.${randomBytes(4).toString('hex')}`
  await writeFile(draft, text, { mode: 0o600 })
  await rename(draft, path)
  return path
}

export type TlsFetch = (url: string, init?: FetchInit) => Promise<Response>

type FetchInit = {
  method?: string
  headers?: Iterable<readonly [string, string]> | Readonly<Record<string, string>>
  body?: unknown
}

const agents = new Set<Agent>()
atEndOfFile(() => {
  for (const agent of agents) agent.destroy()
  agents.clear()
})

/**
 * `fetch`, on connections of its own with these certificates. One is kept open between calls.
 * @param port where on loopback to go, whatever machine the address names
 */
export const fetchWith = (
  options: AgentOptions,
  port?: number,
  onConnected: (socket: TLSSocket) => void = () => undefined,
): TlsFetch => {
  const agent = new Agent({ keepAlive: true, ...options })
  agents.add(agent)
  return async (url, { body, headers = {}, method = 'GET' } = {}) => {
    const { host, hostname } = new URL(url)
    const isList = Symbol.iterator in headers
    const sent = request(url, {
      agent,
      method,
      headers: { host, ...(isList ? Object.fromEntries(headers) : headers) },
      ...(port !== undefined && { hostname: '127.0.0.1', port, servername: hostname }),
    })
    sent.once('socket', (socket) => {
      const secure = socket as TLSSocket
      if (secure.connecting) secure.once('secureConnect', () => onConnected(secure))
    })
    sent.end(body === undefined || body === null ? undefined : String(body))
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk)
    const status = answer.statusCode ?? 0
    const text = Buffer.concat(chunks).toString()
    return new Response(status === 204 ? null : text, {
      status,
      headers: Object.entries(answer.headers).map(
        ([key, value]) => [key, String(value)] as const,
      ) as [string, string][],
    })
  }
}
