import { type Html, html } from './html.ts'

/**
 * Renders the header of a page in the style of the documents: the name, the search, and a link to
 * the contents.
 * @param searched the search text; empty except on a page of search results
 * @param contents the address of the list of documents
 */
export const siteHeader = (searched: string, contents: string): Html => html`<header class="top">
    <a class="brand" href="/docs">Pinfold</a>
    <form class="find" action="/docs/search" role="search" aria-label="Search the documents">
      <input type="search" name="text" required maxlength="100" autocomplete="off"
        spellcheck="false" placeholder="Search the documents" aria-label="Search the documents"
        aria-keyshortcuts="/" value="${searched}">
      <button class="quiet">Search</button>
    </form>
    <a class="to-contents" href="${contents}">Contents</a>
  </header>`
