// The theme's styles are those of tables with this class.
$('table').addClass('docutils');
