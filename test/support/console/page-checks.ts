import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Runs in the page: returns the tag, the class and the start of the text of at most five elements that are too wide. */
const overflowing = `(() => {
  const width = document.documentElement.clientWidth
  const found = []
  const root = document.scrollingElement
  if (root.scrollWidth > width) found.push('document is ' + root.scrollWidth + ' px wide')
  const scrolls = element => getComputedStyle(element).overflowX !== 'visible'
  for (const element of document.querySelectorAll('main, main > *')) {
    if (element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'hidden')
      found.push(element.tagName + '.' + element.className + ' scrolls to ' + element.scrollWidth + ' px')
  }
  const isClipped = element => {
    for (let at = element.parentElement; at && at.tagName !== 'MAIN'; at = at.parentElement) {
      if (at.parentElement?.tagName !== 'MAIN' && scrolls(at) && at.getBoundingClientRect().right <= width + 1) return true
    }
    return false
  }
  for (const element of document.querySelectorAll('main *, aside *')) {
    const { left, right, width: own } = element.getBoundingClientRect()
    if (own === 0 || (right <= width + 1 && left >= -1) || element.closest('.visually-hidden') || isClipped(element)) continue
    found.push(element.tagName + '.' + element.getAttribute('class') + ' from ' + left + ' to ' + right + ': ' + (element.textContent ?? '').slice(0, 40))
  }
  return found.slice(0, 5)
})()`

/** Returns what is wider than the viewport, although nothing around it scrolls or ends with dots. */
export const overflowOf = (page: Page): Promise<readonly string[]> => page.evaluate<readonly string[]>(overflowing)

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** Loads the checker of accessibility into an open page. */
const loadAxe = (page: Page): Promise<void> => page.evaluate(`${axe.source}; undefined`)

/** Ends transitions, such as those of colors after a change of the theme. */
const settle = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
  for (const animation of document.getAnimations()) {
    if (animation.effect.getComputedTiming().endTime === Infinity) animation.cancel()
    else animation.finish()
  }
})`

/** Returns the serious and critical violations of accessibility: all of the light theme, those of colors of the dark one. */
async function violationsOf(page: Page, theme: 'light' | 'dark'): Promise<readonly string[]> {
  await page.evaluate(settle)
  const violations = await page.evaluate<readonly Violation[]>(
    `axe.run(document, { resultTypes: ['violations'], ${theme === 'dark' ? "runOnly: ['color-contrast']" : ''} }).then(({ violations }) => JSON.parse(JSON.stringify(violations)))`,
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.length} × ${nodes[0]?.html.slice(0, 240)} ${nodes[0]?.failureSummary?.split('\n')[1] ?? ''}`,
    )
}

/** Returns the violations of both themes of an open page, each with the name of its theme. */
export async function violationsOfThemes(page: Page): Promise<readonly string[]> {
  await loadAxe(page)
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
    found.push(...(await violationsOf(page, colorScheme)).map(violation => `${colorScheme}: ${violation}`))
  }
  return found
}
