import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { parseVerifierKey } from '../../../packages/audit/notes.ts'
import { lockDataDirectory, makeDataDirectory } from '../../storage/engine/data-directory.ts'
import { createWitnessServer } from '../../witness/listen.ts'
import { createWitness } from '../../witness/witness.ts'
import { type Call, type Command, findText, requireText, UsageError } from '../command.ts'
import { readNamedFile } from '../files.ts'
import { print, printBeside } from '../output.ts'

export const witnessCommand: Command = {
  words: 'witness',
  summary: 'cosigns the checkpoints of audit logs, until it is stopped',
  description:
    'For a machine of an auditor or of a second site (c2sp.org/tlog-witness). It cosigns only ' +
    'trees\nthat extend those that it has cosigned. Its first line of output is its key, for ' +
    'the policy of the\nlog and for verifiers.',
  options: {
    dir: {
      type: 'string',
      value: 'FOLDER',
      help: 'the folder for the record of cosigned checkpoints',
    },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      help: 'the address that accepts checkpoints by HTTP',
    },
    key: {
      type: 'string',
      value: 'FILE',
      help: 'its private key, Ed25519 as PEM; generated if the file is missing',
    },
    name: { type: 'string', value: 'NAME', help: 'the name of its key; by default from the host' },
    logs: {
      type: 'string',
      value: 'FILE',
      help: 'verifier keys of the logs that it cosigns; by default the file logs in its folder',
    },
  },
  connection: [],
  example: 'pinfold witness --dir ./witness --listen 127.0.0.1:7380 --key witness.pem',
  async run(call) {
    const folder = requireText(call, 'dir')
    const [, host, digits] = /^\[?(.+?)\]?:([0-9]{1,5})$/.exec(requireText(call, 'listen')) ?? []
    const port = Number(digits)
    if (host === undefined || port > 65_535) throw new UsageError('--listen must be HOST:PORT.')
    await makeDataDirectory(folder)
    const privateUrl = `http://${host}:${port}`
    const startedAt = new Date().toISOString()
    const unlock = await lockDataDirectory(folder, { pid: process.pid, startedAt, privateUrl })
    try {
      const privateKey = await readOrMakeKey(requireText(call, 'key'))
      const witness = createWitness({
        name: findText(call, 'name') ?? `${hostname()}/pinfold-witness`,
        privateKey,
        publicKey: createPublicKey(privateKey),
        logs: await readLogs(call, folder),
        folder,
      })
      const server = createWitnessServer(witness, (error) =>
        printBeside(error instanceof Error ? (error.stack ?? error.message) : String(error)),
      )
      server.listen(port, host)
      await once(server, 'listening')
      print(witness.verifierKey)
      const { port: listening } = server.address() as AddressInfo
      printBeside(`The witness listens at http://${host}:${listening}/add-checkpoint.`)
      await new Promise((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve)
      })
      server.close()
      server.closeIdleConnections()
      await once(server, 'close')
      return null
    } finally {
      unlock()
    }
  },
}

/** @throws UsageError without such a key in the file; the message contains nothing of the file. */
async function readOrMakeKey(path: string) {
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ed25519')
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' })
    await writeFile(path, pem, { mode: 0o600, flag: 'wx', flush: true })
    return privateKey
  }
  try {
    const key = createPrivateKey(await readNamedFile(path))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The error's message could contain a part of the key.
  }
  throw new UsageError(`${path} must have an Ed25519 private key as PEM.`)
}

/** @throws UsageError */
async function readLogs(call: Call, folder: string) {
  const path = findText(call, 'logs') ?? join(folder, 'logs')
  try {
    const lines = (await readNamedFile(path)).split('\n').map((line) => line.trim())
    const logs = lines.filter((line) => line !== '' && !line.startsWith('#')).map(parseVerifierKey)
    if (logs.length > 0) return logs
  } catch (cause) {
    throw new UsageError(`${path} must have verifier keys of logs, one per line.`, { cause })
  }
  throw new UsageError(
    `${path} names no log. The log publishes its keys at /.well-known/audit-log-keys.`,
  )
}
