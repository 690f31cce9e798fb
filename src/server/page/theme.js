// SPDX-License-Identifier: Apache-2.0
// theme.js: sets the chosen colours before anything is drawn, so that the page does not flash. A
// plain script in the head; everything else is a module.
{
    let theme = null;
    try {
        theme = JSON.parse(localStorage.getItem("glint-settings")).theme;
    } catch {
        // nothing kept, or nothing may be kept: the system's colours
    }
    if (theme === "dark" || theme === "light")
        document.documentElement.dataset.theme = theme;
}
