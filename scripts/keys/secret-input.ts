import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

/** What nobody may read over a shoulder or in a shell's history: asked for unseen, or piped in. */
export async function readSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return readAll()
  process.stderr.write(`${question}: `)
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: unseen, terminal: true })
  const text = await new Promise<string>((resolve) => reader.question('', resolve))
  reader.close()
  process.stderr.write('\n')
  return text.replaceAll(/[\s-]/g, '')
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8').replaceAll(/\s/g, '')
}
