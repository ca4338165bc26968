import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { printBeside, printPrompt } from './output.ts'

/**
 * Reads a secret from a hidden prompt or standard input, so that neither the screen nor a shell's
 * history shows it.
 */
export async function readSecret(prompt: string): Promise<string> {
  if (!process.stdin.isTTY) return (await readAll(process.stdin)).replaceAll(/\s/g, '')
  printPrompt(prompt)
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: unseen, terminal: true })
  const text = await new Promise<string>((resolve) => reader.question('', resolve))
  reader.close()
  printBeside('')
  return text.replaceAll(/[\s-]/g, '')
}
