/** Tells how far long work is, on standard error: one line that changes on a terminal, else new lines. */
export function createProgress(): { tell(line: string): void; end(): void } {
  const { stderr } = process
  let last = ''
  return {
    tell(line) {
      if (line === last) return
      last = line
      stderr.write(stderr.isTTY ? `\r\u001b[2K${line}` : `${line}\n`)
    },
    end() {
      if (stderr.isTTY && last !== '') stderr.write('\r\u001b[2K')
    },
  }
}
