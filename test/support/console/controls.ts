import type { Page } from 'playwright-core'

/** Runs in the page: unfolds what is folded, and so what is folded in there. */
const unfold = `(async () => {
  const folded = 'main [aria-expanded=false]:not([aria-haspopup]), aside [aria-expanded=false]:not([aria-haspopup])'
  for (let round = 0; round < 3; round += 1) {
    for (const element of document.querySelectorAll(folded)) element.click()
    for (const element of document.querySelectorAll('details')) element.open = true
    await new Promise(done => setTimeout(done, 50))
  }
})()`

/**
 * Runs in the page: returns every visible button, the fields that can be filled, and the links, each as its kind and name.
 * What only unfolds, and tabs, which only show something, are left out.
 */
const listControls = `(() => {
  const isVisible = element => element.checkVisibility({ checkVisibilityCSS: true })
  const textOf = id => document.getElementById(id)?.textContent ?? ''
  const nameOf = element => {
    const labelled = (element.getAttribute('aria-labelledby') ?? '').split(' ').map(textOf).join(' ').trim()
    // Buttons that clear or remove have no name; that of their field shows which they are.
    const around = element.closest('[class*=InputWrapper-root]')?.querySelector('label')?.textContent ?? ''
    const name = element.getAttribute('aria-label') || labelled || element.labels?.[0]?.textContent || element.innerText || element.placeholder || 'unnamed in ' + around
    return name.replaceAll(/\\s+/g, ' ').trim()
  }
  const all = selector => [...document.querySelectorAll(selector)].filter(isVisible)
  const addressOf = ({ href, origin }) => (origin === location.origin ? href.slice(origin.length) : href)
  return [
    ...all('button:not([aria-expanded], [role=tab]), button[aria-haspopup], [role=button]').map(nameOf),
    ...all('input:enabled, textarea:enabled').filter(({ readOnly }) => !readOnly).map(element => 'field ' + nameOf(element)),
    ...all('a[href]').map(element => 'link ' + addressOf(element)),
  ]
})()`

/** Returns the controls of an open page and the items of all its menus, each once, in alphabetical order. */
export async function controlsOf(page: Page): Promise<readonly string[]> {
  const items = await itemsOfMenus(page)
  await page.evaluate(unfold)
  const controls = await page.evaluate<readonly string[]>(listControls)
  return [...new Set([...items, ...controls])].toSorted()
}

/** Opens each menu of the page; of menus with one name, such as those of the steps of a session, the first. */
async function itemsOfMenus(page: Page): Promise<readonly string[]> {
  const items: string[] = []
  const buttons = page.locator('main button[aria-haspopup=menu], aside button[aria-haspopup=menu]')
  const names = new Set(await Promise.all((await buttons.all()).map(button => button.getAttribute('aria-label'))))
  for (const name of names) {
    // Those of the steps of a session are visible under the pointer only.
    await page
      .getByRole('button', { name: name ?? '', includeHidden: true })
      .first()
      .dispatchEvent('click')
    await page.getByRole('menu').waitFor()
    items.push(...(await page.getByRole('menuitem').allInnerTexts()))
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
  }
  return items
}
