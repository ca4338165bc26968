import type { CardWords } from './card-words.ts'

/** Announces the result of copying. */
type Say = (text: string) => void

/** The words of the element that tell it. */
type CopyWords = Pick<CardWords, 'copied' | 'cleared' | 'cannotCopy' | 'cannotClear'>

const keptSeconds = 30
let clearing: ReturnType<typeof setTimeout> | undefined

/**
 * Copies a card number and clears the clipboard after half a minute, if the browser permits it.
 * This also clears other text copied meanwhile, since a page cannot read the clipboard.
 */
export async function copyForAWhile(text: string, words: CopyWords, say: Say): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    say(words.cannotCopy)
    return
  }
  say(words.copied.replace('{count}', String(keptSeconds)))
  clearTimeout(clearing)
  clearing = setTimeout(() => clear(words, say), keptSeconds * 1_000)
}

async function clear(words: CopyWords, say: Say): Promise<void> {
  // Only the focused page may write, so the clipboard is cleared when the user returns.
  if (!document.hasFocus()) {
    window.addEventListener('focus', () => void clear(words, say), { once: true })
    return
  }
  try {
    await navigator.clipboard.writeText('')
    say(words.cleared)
  } catch {
    say(words.cannotClear)
  }
}
