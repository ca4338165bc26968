/** A guide as its reader follows it: every command run, every file written, every output compared. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'

/** One fenced block: ```` ```sh ````, ```` ```js name.mjs ```` or ```` ```text ````. */
export type Block = { kind: string; file: string | undefined; text: string }

export const readGuide = async (name: string): Promise<Block[]> => {
  const text = await readFile(new URL(`../../docs/guides/${name}`, import.meta.url), 'utf8')
  const fences = text.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)
  return [...fences].map(([, kind = '', file, lines = '']) => ({ kind, file, text: lines }))
}

/** The script of bash that does what the guide says, block after block. */
export const scriptOf = (blocks: readonly Block[]): string =>
  blocks
    .filter(({ file, kind }) => kind === 'sh' || file !== undefined)
    .map(({ file, text }) =>
      file === undefined ? text : `cat > ${file} <<'END OF THE FILE'\n${text}END OF THE FILE\n`,
    )
    .join('\n')

/** The output that a guide shows comes, line by line; digits may be others. */
export const assertShown = (blocks: readonly Block[], printed: string): void => {
  const shown = blocks.filter(({ kind }) => kind === 'text').map(({ text }) => text)
  assert.ok(shown.length > 0)
  const masked = (text: string): string => text.replaceAll(/[0-9]/g, '#')
  for (const text of shown) assert.ok(masked(printed).includes(masked(text)), printed)
}
