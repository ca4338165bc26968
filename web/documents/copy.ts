/** How long a button says that it copied. */
const saidMs = 2_000

/** Puts a button beside each block of code that copies it. */
export function addCopyButtons(): void {
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'quiet copy'
    button.textContent = 'Copy'
    button.addEventListener('click', () => void copy(block, button))
    block.append(button)
  }
}

async function copy(block: Element, button: HTMLButtonElement): Promise<void> {
  const text = block.querySelector('code')?.textContent ?? ''
  // Without TLS, browsers let only pages of this machine use the clipboard.
  const isCopied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  button.textContent = isCopied ? 'Copied' : 'Not copied'
  setTimeout(() => {
    button.textContent = 'Copy'
  }, saidMs)
}
