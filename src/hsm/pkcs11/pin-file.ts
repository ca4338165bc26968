import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'

/**
 * Reads the PIN of a token: one line, in a file that its owner alone can read.
 * @throws Error that names the file, never its content.
 */
export function readPinFile(path: string): string {
  const file = openSync(path, 'r')
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) {
      throw new Error(`${path} holds a PIN and must be readable by its owner alone (mode 0600).`)
    }
    return onlyLine(path, readFileSync(file, 'utf8'))
  } finally {
    closeSync(file)
  }
}

function onlyLine(path: string, text: string): string {
  const line = text.replace(/\r?\n$/, '')
  if (/^[^\p{Cc}]{1,255}$/u.test(line)) return line
  throw new Error(`${path} must hold the PIN of the token, and nothing else.`)
}
