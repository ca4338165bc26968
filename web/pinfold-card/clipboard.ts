/** Says how it went with the clipboard. */
type Say = (text: string) => void

const keptSeconds = 30
let clearing: ReturnType<typeof setTimeout> | undefined

/**
 * Copies a card number, and empties the clipboard after half a minute, where the browser lets it. What
 * was copied elsewhere meanwhile is overwritten, too: a page may not look whether it was.
 */
export async function copyForAWhile(text: string, say: Say): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    say('This browser does not let the page copy. Select the number instead.')
    return
  }
  say(`Copied. The clipboard is cleared in ${keptSeconds} seconds, if this page is open then.`)
  clearTimeout(clearing)
  clearing = setTimeout(() => clear(say), keptSeconds * 1_000)
}

async function clear(say: Say): Promise<void> {
  // Only the page in front may write: whoever went elsewhere to paste finds it cleared on return.
  if (!document.hasFocus()) {
    window.addEventListener('focus', () => void clear(say), { once: true })
    return
  }
  try {
    await navigator.clipboard.writeText('')
    say('The clipboard was cleared.')
  } catch {
    say('This browser does not let the page clear the clipboard: copy something else.')
  }
}
